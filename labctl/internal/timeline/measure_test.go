package timeline

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/operator/api"
)

// script builds a timeline in run seconds. The pods are called old, other (a standby) and new (a replacement).
type script struct {
	events []Event
	trial  int
	retry  float64
}

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func wall(t float64) time.Time { return epoch.Add(time.Duration(t * float64(time.Second))) }

func (s *script) add(t float64, e Event) *script {
	e.Seconds, e.Wall, e.Trial = t, wall(t), s.trial
	s.events = append(s.events, e)
	return s
}

func (s *script) lease(t float64, holder string, transitions int) *script {
	return s.add(t, Event{Kind: LeaseSeen, Lease: &Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: transitions, RenewTime: wall(t - 0.004)}})
}

func (s *script) log(t float64, pod, message string) *script {
	return s.add(t, Event{Kind: LogLine, Log: &Log{Pod: pod, UID: pod + "-uid", Time: wall(t - 0.001), Level: "INFO", Message: message}})
}

func (s *script) process(t float64, kind Kind, pod string) *script {
	return s.add(t, Event{Kind: kind, Process: &Process{Pod: pod, UID: pod + "-uid", At: wall(t - 0.002)}})
}

func (s *script) fault(t float64, mode string) *script {
	s.trial = 1
	return s.add(t, Event{Kind: FaultIssued, Fault: &Fault{Mode: mode, Pod: "old", UID: "old-uid", Standbys: []string{"other"}, StandbyUIDs: []string{"other-uid"}, SharedClock: true, RetryPeriodSeconds: s.retry}}).
		add(t, Event{Kind: FaultAccepted})
}

// end is the end of the old leader: process and log.
func (s *script) end(t float64) *script {
	return s.process(t, ProcessGone, "old").add(t, Event{Kind: LogEnded, Log: &Log{Pod: "old", UID: "old-uid"}})
}

func (s *script) pod(t float64, kind Kind, name string, terminating bool) *script {
	return s.add(t, Event{Kind: kind, Pod: &Pod{Name: name, UID: name + "-uid", Terminating: terminating}})
}

func (s *script) work(t float64, holder string) *script {
	return s.add(t, Event{Kind: WorkSeen, Work: &Work{Holder: holder}})
}

func (s *script) deploy(t float64, generation int64, replicas int) *script {
	return s.add(t, Event{Kind: Deployed, Deploy: &Deploy{Generation: generation, Replicas: replicas}})
}

// polling is the RetryPeriod that the next fault knows.
func (s *script) polling(seconds float64) *script {
	s.retry = seconds
	return s
}

// request is a pod's request on the Lease that took two milliseconds, logged at once.
func (s *script) request(t float64, pod, verb string) *script {
	return s.add(t+0.05, Event{Kind: LeaseRequest, Request: &Request{Verb: verb, Code: 200, Pod: pod, UID: pod + "-uid", Received: wall(t), Answered: wall(t + 0.002)}})
}

// steady is ten seconds of a healthy leader that renews every two seconds and works.
func steady() *script {
	s := &script{}
	for t := 0.0; t < 10; t += 2 {
		s.lease(t, "old", 3).log(t+0.1, "old", api.MessageReconcile).log(t+1, "other", api.MessageAttempt)
	}
	return s
}

// classCase is a script and what must follow from it; a figure of -1 must not be seen.
type classCase struct {
	name             string
	script           *script
	class            Class
	winner           Winner
	lock, gap        float64
	overlap          float64
	transitionsAfter int
}

var classCases = []classCase{
	{"a release is an empty holder before the new one",
		steady().fault(9, "graceful").log(9.05, "old", api.MessageSignal).lease(9.1, "", 3).end(9.12).
			lease(10.5, "other", 4).log(10.51, "other", api.MessageReconcile),
		Released, Standby, 1.4, 1.51, 0, 4},
	{"no empty holder and the record ran out: expired",
		steady().fault(9, "kill").end(9.01).lease(24.0, "other", 4).log(24.2, "other", api.MessageReconcile),
		Expired, Standby, 14.99, 15.2, 0, 4},
	{"a pod that was not there before is the replacement",
		steady().fault(9, "kill").end(9.01).pod(9.1, PodSeen, "new", false).log(10.3, "new", api.MessageStarted).lease(25, "new", 4).log(25.1, "new", api.MessageReconcile),
		Expired, Replacement, 15.99, 16.1, 0, 4},
	{"the same name in the record again: no transition",
		steady().fault(9, "crash").end(9.01).process(10.1, ProcessUp, "old").lease(10.3, "old", 3).
			add(10.31, Event{Kind: LogLine, Log: &Log{Pod: "old", UID: "old-uid", Restarts: 1, Time: wall(10.3), Message: api.MessageReconcile}}),
		SameIdentity, Same, 1.29, 1.31, 0, 3},
	{"another holder while the record was valid: stolen, and by nobody of the lab",
		steady().fault(9, "steal").lease(9.2, "thief", 4).log(9.3, "thief", api.MessageReconcile),
		Stolen, "", -1, 0.3, -1, 4},
	{"the object went away: deleted",
		steady().fault(9, "delete-lease").add(9.1, Event{Kind: LeaseGone}).lease(9.5, "other", 0).log(9.6, "other", api.MessageReconcile),
		Deleted, Standby, -1, 0.6, -1, 0},
	{"an object that goes away after the takeover changes nothing",
		steady().fault(9, "kill").end(9.01).lease(24, "other", 4).add(24.1, Event{Kind: LeaseGone}).log(24.2, "other", api.MessageReconcile),
		Expired, Standby, 14.99, 15.2, 0, 4},
	{"the old leader's reconcile after the new one's first is an overlap",
		steady().fault(9, "cut").lease(24, "other", 4).log(24.1, "other", api.MessageReconcile).log(26.1, "old", api.MessageReconcile),
		Expired, Standby, -1, 15.1, 0.1, 4},
	{"and so is its write",
		steady().fault(9, "cut").lease(24, "other", 4).work(24.1, "other").work(27.1, "old"),
		Expired, Standby, -1, 15.1, 0.1, 4},
	{"an old log that was not read to its end proves no absence of an overlap",
		steady().fault(9, "kill").process(9.01, ProcessGone, "old").lease(24.0, "other", 4).log(24.2, "other", api.MessageReconcile),
		Expired, Standby, 14.99, 15.2, -1, 4},
	{"nor does one with a hole",
		steady().fault(9, "kill").add(9, Event{Kind: LogHole, Log: &Log{Pod: "old", UID: "old-uid"}}).end(9.01).lease(24.0, "other", 4).log(24.2, "other", api.MessageReconcile),
		Expired, Standby, 14.99, 15.2, -1, 4},
	{"somebody else's work is not the successor's",
		steady().fault(9, "kill").end(9.01).log(12, "stray", api.MessageReconcile).lease(24.0, "other", 4).log(24.2, "other", api.MessageReconcile),
		Expired, Standby, 14.99, 15.2, 0, 4},
	{"a renewal that was under way at the fault is no takeover",
		steady().fault(9.999, "kill").lease(10.001, "old", 3).end(10.003).lease(25.5, "other", 4).log(25.6, "other", api.MessageReconcile),
		Expired, Standby, 15.497, 15.601, 0, 4},
}

func TestMeasure_Classes(t *testing.T) {
	for _, c := range classCases {
		t.Run(c.name, func(t *testing.T) {
			got := Measure(c.script.events, 1)
			if got.Class != c.class || got.Winner != c.winner {
				t.Errorf("got %s by %s, want %s by %s", got.Class, got.Winner, c.class, c.winner)
			}
			figure(t, "lock gap", got.LockGapSeconds, c.lock)
			figure(t, "gap", got.GapSeconds, c.gap)
			figure(t, "overlap", got.OverlapSeconds, c.overlap)
			if got.TransitionsAfter == nil || *got.TransitionsAfter != c.transitionsAfter {
				t.Errorf("transitions after: got %v, want %d", got.TransitionsAfter, c.transitionsAfter)
			}
		})
	}
}

func figure(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	switch {
	case want < 0 && got != nil:
		t.Errorf("%s: got %.3f, want not seen", what, *got)
	case want >= 0 && got == nil:
		t.Errorf("%s: not seen, want %.3f", what, want)
	case want >= 0 && (*got-want > 1e-6 || want-*got > 1e-6):
		t.Errorf("%s: got %.6f, want %.6f", what, *got, want)
	}
}

func TestMeasure_ADisturbedTrialIsUnknownAndHasNoFigure(t *testing.T) {
	taken := func(s *script) *script {
		return s.lease(24, "other", 4).log(24.1, "other", api.MessageReconcile)
	}
	hole := func(seconds float64) Event { return Event{Kind: WatchHole, Note: "lease", HoleSeconds: seconds} }
	empty := steady().lease(8.9, "", 3)
	for name, c := range map[string]struct {
		script *script
		reason string
	}{
		"nobody took over":          {steady().fault(9, "kill").end(9.01), "no new holder was seen"},
		"a hole before":             {taken(steady().fault(9, "kill").end(9.01).add(12, hole(0))), "events may be missing or late"},
		"a hole told afterwards":    {taken(steady().fault(9, "kill").end(9.01)).add(30, hole(8)), "events may be missing or late"},
		"no fault":                  {steady(), "no fault was issued"},
		"released before the fault": {taken(empty.fault(9, "kill").end(9.01)), `it was ""`},
		"taken before the fault":    {taken(steady().lease(8.9, "third", 4).fault(9, "kill").end(9.01)), `it was "third"`},
		"no Lease":                  {taken(steady().add(8.9, Event{Kind: LeaseGone}).fault(9, "kill").end(9.01)), "there was no Lease"},
		"a doomed holder":           {taken(steady().pod(8.9, PodSeen, "old", true).fault(9, "graceful").end(9.01)), "on its way out"},
		"the standby's process":     {taken(steady().fault(9, "kill").end(9.01).process(12, ProcessGone, "other")), "standby other went away"},
		"the standby's pod":         {taken(steady().fault(9, "kill").end(9.01).pod(12, PodSeen, "other", true)), "standby other went away"},
		"a slow acceptance": {taken((&script{events: steady().events, trial: 1}).
			add(9, Event{Kind: FaultIssued, Fault: &Fault{Mode: "kill", Pod: "old", UID: "old-uid", Standbys: []string{"other"}}}).add(11, Event{Kind: FaultAccepted})), "took 2.00 s to be accepted"},
		"a late arrival": {steady().fault(9, "graceful").end(9.01).
			add(15, Event{Kind: LeaseSeen, Lease: &Lease{Holder: "other", LeaseDurationSeconds: 15, Transitions: 4, RenewTime: wall(13)}}), "seen 2.00 s after it was written"},
		"a shorter duration in between": {taken(steady().fault(9, "kill").
			add(10, Event{Kind: LeaseSeen, Lease: &Lease{Holder: "old", LeaseDurationSeconds: 4, Transitions: 3}})), "was changed to 4"},
		"a write in a dead one's name": {taken(steady().fault(9, "kill").end(9.01).lease(12, "old", 3)), "after its process was gone"},
		"a leader that is fenced off":  {taken(steady().log(8, "old", api.MessageWriteRefused).fault(9, "kill").end(9.01)), "writes were refused"},
		"a rollout":                    {taken(steady().fault(9, "kill").end(9.01).pod(10, PodSeen, "new", false).pod(11, PodSeen, "newer", false)), "more pods than one replacement"},
		"not accepted": {taken((&script{events: steady().events, trial: 1}).
			add(9, Event{Kind: FaultIssued, Fault: &Fault{Mode: "kill", Pod: "old", UID: "old-uid", Standbys: []string{"other"}}})), "not accepted"},
		"another generation": {taken(steady().deploy(8, 3, 2).fault(9, "kill").end(9.01).deploy(12, 4, 2)), "generation 3 to 4"},
		"a replacement that is taken away": {taken(steady().fault(9, "kill").end(9.01).pod(10, PodSeen, "new", false).pod(12, PodSeen, "new", true)),
			"replacement new was taken away"},
		"a standby that stood still":            {taken(steady().polling(2).fault(9, "kill").end(9.01).log(10, "other", api.MessageAttempt).log(20, "other", api.MessageAttempt)), "did not poll for 10.0 s"},
		"a standby that stood still to the end": {taken(steady().polling(2).fault(9, "kill").end(9.01).log(10, "other", api.MessageAttempt)), "did not poll for 14.0 s"},
		"another timing": {steady().fault(9, "kill").end(9.01).
			add(15, Event{Kind: LeaseSeen, Lease: &Lease{Holder: "other", LeaseDurationSeconds: 5, Transitions: 4}}).log(15.1, "other", api.MessageReconcile), "changed from 15 to 5"},
	} {
		got := Measure(c.script.events, 1)
		if got.Class != Unknown || !strings.Contains(got.Void, c.reason) || got.Complete() {
			t.Errorf("%s: got class %s, void %q; want unknown because %q", name, got.Class, got.Void, c.reason)
		}
		if got.GapSeconds != nil || got.LockGapSeconds != nil || got.OverlapSeconds != nil {
			t.Errorf("%s: a void trial has figures: %+v", name, got)
		}
	}
}

func TestMeasure_HoleAfterTheTakeoverDoesNotMatter(t *testing.T) {
	s := steady().fault(9, "kill").end(9.01).lease(24, "other", 4).add(24.05, Event{Kind: WatchHole, Note: "pods"}).log(24.1, "other", api.MessageReconcile)
	if got := Measure(s.events, 1); got.Class != Expired {
		t.Errorf("got %s (%s), want expired", got.Class, got.Void)
	}
}

func TestMeasure_ARecordThatBeginsWithTheFault(t *testing.T) {
	s := (&script{}).fault(0, "kill").lease(1, "other", 4)
	if got := Measure(s.events, 1); got.Class != Unknown {
		t.Errorf("got %s, want unknown", got.Class)
	}
}

func TestMeasure_ALeaderThatWritesAgainIsNotFencedOffAnyMore(t *testing.T) {
	s := steady().log(7, "old", api.MessageWriteRefused).work(8, "old").fault(9, "kill").end(9.01).lease(24, "other", 4).log(24.1, "other", api.MessageReconcile)
	if got := Measure(s.events, 1); got.Void != "" {
		t.Errorf("got void: %s", got.Void)
	}
}

// A reconcile whose write was refused is nothing that a user feels.
func TestMeasure_ASuccessorThatIsFencedOffHasNoUserGap(t *testing.T) {
	s := steady().fault(9, "kill").end(9.01).lease(24, "other", 4).log(24.1, "other", api.MessageReconcile).log(24.11, "other", api.MessageWriteRefused)
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 14.99)
	figure(t, "user gap", got.GapSeconds, -1)
}

func TestMeasure_EndsWithTheTrial(t *testing.T) {
	s := steady().fault(9, "kill").add(20, Event{Kind: TrialEnded}).lease(24, "other", 4)
	if got := Measure(s.events, 1); got.Class != Unknown {
		t.Errorf("a takeover after the end of the trial: got %s, want unknown", got.Class)
	}
}
