package report

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestNarrator_TellsAHandoverAndLeavesOutRepetition(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, transitions int) *timeline.Lease {
		return &timeline.Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: transitions}
	}
	work := &timeline.Work{Holder: "pod-a", Transition: 3, Sequence: 7}
	var n Narrator
	var got []string
	for i, e := range []timeline.Event{
		{Kind: timeline.LeaseSeen, Lease: lease("pod-a", 3)},
		{Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: "pod-of-yesterday"}},
		{Kind: timeline.WorkSeen, Work: work},
		{Kind: timeline.WorkSeen, Work: work},
		{Kind: timeline.LeaseSeen, Lease: lease("pod-a", 3)},
		{Kind: timeline.LogLine, Log: &timeline.Log{Pod: "pod-a", Message: api.MessageReconcile}},
		{Kind: timeline.LogLine, Log: &timeline.Log{Pod: "pod-a", Message: "of yesterday", Time: at.Add(-time.Hour)}},
		{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: "pod-a", UID: "u", Terminating: true}},
		{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: "pod-a", UID: "u", Terminating: true}},
		{Kind: timeline.LeaseSeen, Lease: lease("", 3)},
		{Kind: timeline.ProcessGone, Process: &timeline.Process{Pod: "pod-a", PID: 9}},
		{Kind: timeline.LeaseSeen, Lease: lease("pod-b", 4)},
		{Kind: timeline.LeaseGone},
		{Kind: timeline.WatchHole, Note: "lease"},
	} {
		e.Seconds, e.Wall = float64(i), at
		if line := n.Line(e); line != "" {
			_, what, _ := strings.Cut(line, "  ")
			got = append(got, what)
		}
	}
	want := []string{
		"lease    held by pod-a; leaseDurationSeconds 15, leaseTransitions 3",
		"work     pod-a works (transition 3, sequence 7)",
		"lease    pod-a renewed, 4.00 s after the last time",
		"pod      pod-a is terminating",
		"lease    pod-a released it",
		"process  pod-a ended (pid 9, exit code 0)",
		"lease    pod-b took it (it was released), 2.00 s after the last write; leaseTransitions 4",
		"lease    the Lease was deleted",
		"hole     events may be missing: lease",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
