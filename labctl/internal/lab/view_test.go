package lab

import (
	"reflect"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func pod(name string, ready bool, restarts int) *timeline.Pod {
	return &timeline.Pod{Name: name, UID: name, Ready: ready, Restarts: restarts}
}

func logged(name, message string) timeline.Event {
	return timeline.Event{Kind: timeline.LogLine, Seconds: 9, Log: &timeline.Log{Pod: name, UID: name, Message: message}}
}

// calm is a lab at second 10 that is settled: pod a holds and renewed at 9, pod b has polled twice.
func calm() []timeline.Event {
	return []timeline.Event{
		{Kind: timeline.PodSeen, Pod: pod("a", true, 0)},
		{Kind: timeline.PodSeen, Pod: pod("b", true, 0)},
		{Kind: timeline.LeaseSeen, Seconds: 9, Lease: &timeline.Lease{Holder: "a_uuid", LeaseDurationSeconds: 15, Transitions: 1}},
		logged("b", api.MessageStarted), logged("b", api.MessageAttempt), logged("b", api.MessageAttempt),
	}
}

func TestView_Settled(t *testing.T) {
	for _, c := range []struct {
		name    string
		then    []timeline.Event
		now     float64
		missing string // a part; "" is settled
	}{
		{"all is well", nil, 10, ""},
		{"a pod too many", []timeline.Event{{Kind: timeline.PodSeen, Pod: pod("c", true, 0)}}, 10, "for 2 replicas"},
		{"a pod gone", []timeline.Event{{Kind: timeline.PodGone, Pod: pod("b", true, 0)}}, 10, "for 2 replicas"},
		{"not ready", []timeline.Event{{Kind: timeline.PodSeen, Pod: pod("b", false, 0)}}, 10, "pod b to be ready"},
		{"released", []timeline.Event{{Kind: timeline.LeaseSeen, Seconds: 10, Lease: &timeline.Lease{}}}, 10, "a holder that renews"},
		{"the Lease is gone", []timeline.Event{{Kind: timeline.LeaseGone}}, 10, "a holder that renews"},
		{"no renewal for two periods", nil, 13.1, "a holder that renews"},
		{"the Lease has another duration", []timeline.Event{{Kind: timeline.LeaseSeen, Seconds: 10, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 5}}}, 10, "a Lease of 15s"},
		{"the standby has not polled for long", []timeline.Event{{Kind: timeline.LeaseSeen, Seconds: 14.4, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15}}}, 14.5, "standby b to poll twice"},
		{"a stranger holds it", []timeline.Event{{Kind: timeline.LeaseSeen, Seconds: 10, Lease: &timeline.Lease{Holder: "x", LeaseDurationSeconds: 15}}, logged("a", api.MessageAttempt), logged("a", api.MessageAttempt)}, 10, "one of the replicas"},
		{"the standby's process is new", []timeline.Event{logged("b", api.MessageStarted), logged("b", api.MessageAttempt)}, 10, "standby b to poll twice"},
		{"the standby's container was restarted", []timeline.Event{{Kind: timeline.PodSeen, Pod: pod("b", true, 1)}}, 10, "standby b to poll twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(byLogs)
			for _, e := range append(calm(), c.then...) {
				v.on(e)
			}
			s, missing := v.settled(2, api.Default(), c.now)
			if (missing == "") != (c.missing == "") || !strings.Contains(missing, c.missing) {
				t.Fatalf("missing: got %q, want %q", missing, c.missing)
			}
			if missing == "" && (s.holder.Name != "a" || len(s.standbys) != 1 || s.standbys[0].Name != "b") {
				t.Errorf("got holder %q and standbys %v, want a and b", s.holder.Name, s.standbys)
			}
		})
	}
}

func TestView_RestartedPodsAreReplacedOneAtATime(t *testing.T) {
	v := newView(byLogs)
	for _, e := range calm() {
		v.on(e)
	}
	if p, found := v.restarted(2); found {
		t.Errorf("got %s, want none", p.Name)
	}
	v.on(timeline.Event{Kind: timeline.PodSeen, Pod: pod("a", true, 2)})
	if p, found := v.restarted(2); !found || p.Name != "a" {
		t.Errorf("got %q, %t; want a", p.Name, found)
	}
	for what, e := range map[string]timeline.Event{
		"another is not ready":  {Kind: timeline.PodSeen, Pod: pod("b", false, 1)},
		"one is missing":        {Kind: timeline.PodGone, Pod: pod("b", true, 1)},
		"one is on its way out": {Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: "b", UID: "b", Ready: true, Terminating: true}},
	} {
		v.on(e)
		if p, found := v.restarted(2); found {
			t.Errorf("%s: got %s, want none yet", what, p.Name)
		}
		v.on(timeline.Event{Kind: timeline.PodSeen, Pod: pod("b", true, 0)})
	}
}

func TestView_MeasureSeesATrialUnderWayAndAfterItsEnd(t *testing.T) {
	v := newView(byLogs)
	v.on(timeline.Event{Kind: timeline.FaultIssued, Trial: 1, Fault: &timeline.Fault{}})
	if got := v.measure(1); got.Void == "no fault was issued" {
		t.Error("the trial under way was not seen")
	}
	v.on(timeline.Event{Kind: timeline.TrialEnded, Trial: 1})
	if got := v.measure(1); got.Void == "no fault was issued" {
		t.Error("the trial that ended was not seen")
	}
	if got := v.measure(2); got.Void != "no fault was issued" {
		t.Errorf("a trial that did not begin: got %q", got.Void)
	}
}

// A run of hours keeps in memory what the trial under way is measured from, and not the trials before it.
func TestView_ForgetsTheTrialsBefore(t *testing.T) {
	v := newView(byLogs)
	var all []timeline.Event
	longest := 0
	for n := range 50 {
		at := 60 * float64(n)
		events := []timeline.Event{{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "pod-a", LeaseDurationSeconds: 15, Transitions: n}},
			{Kind: timeline.FaultIssued, Trial: n + 1, Fault: &timeline.Fault{Mode: "graceful", Pod: "pod-a", UID: "pod-a"}},
			{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "pod-b", LeaseDurationSeconds: 15, Transitions: n + 1}},
			{Kind: timeline.TrialEnded, Trial: n + 1}}
		for i := range events {
			events[i].Seconds = at + float64(i)
			v.on(events[i])
			all = append(all, events[i])
			longest = max(longest, len(v.all()))
		}
		want := timeline.Measure(timeline.Cut(all, n+1), n+1)
		if got := v.measure(n + 1); !reflect.DeepEqual(got, want) || *got.TransitionsAfter != n+1 {
			t.Fatalf("trial %d: got %+v, want %+v", n+1, got, want)
		}
	}
	if longest > 8 {
		t.Errorf("%d events were kept at a time, of 4 a trial", longest)
	}
}

func TestView_NextIsClosedByTheNextEvent(t *testing.T) {
	v := newView(byLogs)
	next := v.next()
	select {
	case <-next:
		t.Fatal("closed before an event")
	default:
	}
	v.on(timeline.Event{Kind: timeline.RunStarted})
	<-next
}

func TestView_ALeaderWhoseWritesAreRefusedIsNotReady(t *testing.T) {
	v := newView(byLogs)
	holder := timeline.Pod{Name: "a", UID: "a-uid", Ready: true}
	v.on(timeline.Event{Seconds: 1, Kind: timeline.PodSeen, Pod: &holder})
	refused := timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: "a", UID: "a-uid", Message: api.MessageWriteRefused}}
	for _, at := range []float64{2, 2.1, 2.9} {
		refused.Seconds = at
		v.on(refused)
	}
	if got := v.fenced(holder, 2.9); got != "" {
		t.Errorf("after 0.9 s: got %q, want nothing: old lines of a log look like that", got)
	}
	if got := v.fenced(holder, 3.1); got != fencedWait {
		t.Errorf("after 1.1 s: got %q, want %q", got, fencedWait)
	}
	v.on(timeline.Event{Seconds: 4, Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: "a"}})
	if got := v.fenced(holder, 9); got != "" {
		t.Errorf("after a write: got %q, want nothing", got)
	}
}
