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
		{Kind: timeline.LogLine, Log: &timeline.Log{Pod: "pod-a", Message: api.MessageAttempt}},
		{Kind: timeline.ServerAway, Note: "the API server has not answered for 1s"},
		{Kind: timeline.ServerBack, Note: "the API server answers again, after 1.25 s"},
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
		"lease    pod-a renewed, after 4.00 s",
		"pod      pod-a is terminating",
		"lease    pod-a released it",
		"process  pod-a ended (pid 9, exit code 0)",
		"lease    b took it (released 2.00 s before); leaseTransitions 4",
		"log      a polled: still in b's name, changed 1.0 s ago",
		"api      the API server does not answer; what follows may be late",
		"api      the API server answers again, after 1.25 s",
		"lease    the Lease was deleted",
		"hole     events may be missing: lease",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The election writes the Lease twice when it takes it; told as a renewal after 0.00 s it would only confuse.
func TestNarrator_TheSecondWriteOfATakeoverIsNoRenewal(t *testing.T) {
	var n Narrator
	tell := func(at float64, holder string) string {
		return n.Line(timeline.Event{Kind: timeline.LeaseSeen, Seconds: at, Lease: &timeline.Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: 4}})
	}
	tell(0, "pod-a")
	for _, c := range []struct {
		at           float64
		holder, want string
	}{{15.2, "pod-b", "b took it (expired: 15.20 s old); leaseTransitions 4"}, {15.21, "pod-b", ""}, {17.2, "pod-b", "pod-b renewed, after 1.99 s"},
		{17.5, "thief", "thief took it (valid: 0.30 s old); leaseTransitions 4"}, {19.5, "thief", "thief renewed, after 2.00 s"}} {
		if got := tell(c.at, c.holder); !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("at %g: got %q, want %q", c.at, got, c.want)
		}
	}
}
