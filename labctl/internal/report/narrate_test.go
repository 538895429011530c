package report

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestNarrator_TellsAHandoverAndLeavesOutRepetition(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
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
		"lease    held by pod-a\n12:00:00.000  lease    no renewTime; lasts 15 s, leaseTransitions 3",
		"work     pod-a works (transition 3, sequence 7)",
		"lease    pod-a renewed",
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

// What was there when the watching began was written by nobody who was seen: its age is by its renewTime, and the first
// renewal has no interval.
func TestNarrator_TheBeginningPretendsToNoInterval(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	name := "academy-operator-b46f6d498-ndkqw"
	for _, c := range []struct {
		renewed time.Time
		want    string
	}{{at.Add(-800 * time.Millisecond), "renewed 0.8 s ago; lasts 15 s, leaseTransitions 3"}, {at.Add(-250 * time.Second), "renewed 250.0 s ago; lasts 15 s, leaseTransitions 3"},
		{time.Time{}, "no renewTime; lasts 15 s, leaseTransitions 3"}, {at.AddDate(1, 0, 0), "renewed in the future; lasts 15 s, leaseTransitions 3"}} {
		var n Narrator
		lease := &timeline.Lease{Holder: name, LeaseDurationSeconds: 15, Transitions: 3, RenewTime: c.renewed, ResourceVersion: "1"}
		lines := strings.Split(n.Line(timeline.Event{Kind: timeline.LeaseSeen, Wall: at, Seconds: 1, Lease: lease}), "\n")
		if len(lines) != 2 || !strings.HasSuffix(lines[0], "held by "+name) || !strings.HasSuffix(lines[1], c.want) || len(lines[0]) > 80 || len(lines[1]) > 80 {
			t.Errorf("got %q, want %q", lines, c.want)
		}
		if line := n.Line(timeline.Event{Kind: timeline.LeaseSeen, Wall: at, Seconds: 1.5, Lease: lease}); line != "" {
			t.Errorf("listed again: got %q", line)
		}
		again := *lease
		again.ResourceVersion, again.RenewTime = "2", at.Add(time.Second)
		if line := n.Line(timeline.Event{Kind: timeline.LeaseSeen, Wall: at, Seconds: 2.06, Lease: &again}); !strings.HasSuffix(line, name+" renewed") {
			t.Errorf("got %q", line)
		}
		third := again
		third.ResourceVersion, third.RenewTime = "3", at.Add(2*time.Second)
		if line := n.Line(timeline.Event{Kind: timeline.LeaseSeen, Wall: at, Seconds: 4.06, Lease: &third}); !strings.Contains(line, "renewed") {
			t.Errorf("got %q", line)
		}
	}
}

func TestNarrator_PrintsNoControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\nb"
	var n Narrator
	for _, e := range []timeline.Event{
		{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: evil}}, {Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: evil + "x"}},
		{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: evil, Phase: evil}}, {Kind: timeline.LogLine, Log: &timeline.Log{Pod: evil, Message: evil, Raw: evil}},
		{Kind: timeline.WatchHole, Note: evil}, {Kind: timeline.ServerBack, Note: evil}, {Kind: timeline.FaultIssued, Fault: &timeline.Fault{Mode: evil, Pod: evil}},
		{Kind: timeline.ProcessUp, Process: &timeline.Process{Pod: evil}}, {Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: evil}}, {Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: "b"}},
	} {
		for _, line := range strings.Split(n.Line(e), "\n") {
			if strings.ContainsRune(line, 0x1b) || line != "" && !strings.Contains(line, "  ") {
				t.Errorf("%s: got %q", e.Kind, line)
			}
		}
	}
}
