package timeline

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/operator/api"
)

// of makes the script's last fault one of that kind.
func (s *script) of(kind FaultKind) *script {
	for i := range s.events {
		if f := s.events[i].Fault; f != nil {
			f.Kind = kind
			if kind == Theft {
				f.Thief = "thief"
			}
		}
	}
	return s
}

// causes are the causes of a trial's hand-overs, in order.
func causes(t Trial) string {
	var all []string
	for _, h := range t.HandOvers {
		all = append(all, h.From+">"+h.To+" "+string(h.Cause))
	}
	return strings.Join(all, ", ")
}

// The thief is no successor: the gap runs from the theft to the one who takes the Lease after the thief's record ran out.
func TestMeasure_ATheft(t *testing.T) {
	s := steady().fault(9, "steal").of(Theft).lease(9.02, "thief", 4)
	for at := 9.1; at < 20.05; at += 0.1 {
		s.log(at, "old", api.MessageReconcile)
	}
	s.process(20.2, ProcessGone, "old").add(20.2, Event{Kind: LogEnded, Log: &Log{Pod: "old", UID: "old-uid"}})
	s.lease(26.02, "other", 5).log(26.1, "other", api.MessageReconcile)
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 17)
	figure(t, "gap", got.GapSeconds, 17.1)
	figure(t, "overlap", got.OverlapSeconds, 0)
	if got.WorkedOnSeconds == nil || *got.WorkedOnSeconds < 10.9 || *got.WorkedOnSeconds > 11.1 {
		t.Errorf("worked on %v, want 11 s", got.WorkedOnSeconds)
	}
	if got.Class != Stolen || got.Winner != Standby || got.Void != "" {
		t.Errorf("got %s, %s, void %q", got.Class, got.Winner, got.Void)
	}
	if got, want := causes(got), "old>thief steal, thief>other steal"; got != want {
		t.Errorf("causes %s, want %s", got, want)
	}
}

// The old holder's own process may take the Lease back after the thief's record ran out.
func TestMeasure_ATheftThatTheHolderOutlives(t *testing.T) {
	got := Measure(steady().fault(9, "steal").of(Theft).lease(9.02, "thief", 4).lease(26.02, "old", 5).work(26.1, "old").events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 17)
	if got.Class != Stolen || got.Winner != Same {
		t.Errorf("got %s, %s, void %q", got.Class, got.Winner, got.Void)
	}
}

func TestMeasure_ADeletion(t *testing.T) {
	s := steady().fault(9, "delete-lease").of(Deletion).add(9.03, Event{Kind: LeaseGone}).lease(10.03, "other", 0).
		log(10.1, "other", api.MessageReconcile).log(10.1, "other", api.MessageWriteRefused)
	for at := 9.1; at < 12.05; at += 0.1 {
		s.log(at, "old", api.MessageReconcile)
	}
	s.end(12.3)
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 1)
	figure(t, "gap", got.GapSeconds, -1) // the fence refuses its writes
	if got.Class != Deleted || got.Winner != Standby || got.OverlapSeconds == nil || *got.OverlapSeconds < 1.8 {
		t.Errorf("got %s, %s, overlap %v, void %q", got.Class, got.Winner, got.OverlapSeconds, got.Void)
	}
	if got, want := causes(got), "old>other deletion"; got != want {
		t.Errorf("causes %s, want %s", got, want)
	}
}

// A holder that makes the Lease again leads on: one process, no overlap, and its work is that after it.
func TestMeasure_ADeletionThatTheHolderMends(t *testing.T) {
	got := Measure(steady().fault(9, "delete-lease").of(Deletion).work(9.01, "old").add(9.03, Event{Kind: LeaseGone}).
		work(9.5, "old").lease(10.03, "old", 0).work(10.1, "old").events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 1)
	figure(t, "gap", got.GapSeconds, 1.1)
	figure(t, "overlap", got.OverlapSeconds, 0)
	if got.Class != Deleted || got.Winner != Same {
		t.Errorf("got %s, %s, void %q", got.Class, got.Winner, got.Void)
	}
}

// In a rollout more than one pod is made, the standby goes, and the Deployment asks for something else: that is the fault.
func TestMeasure_ARollout(t *testing.T) {
	rollout := func(kind FaultKind) Trial {
		s := steady().deploy(8, 1, 2).fault(9, "rollout").of(kind).deploy(9.1, 2, 2).pod(9.2, PodSeen, "new", false).pod(11, PodSeen, "other", true).
			process(11.2, ProcessGone, "other").pod(11.3, PodSeen, "newer", false).log(13, "old", api.MessageSignal).
			lease(13.1, "", 3).end(13.12).lease(14.1, "new", 4).log(14.2, "new", api.MessageReconcile)
		return Measure(s.events, 1)
	}
	got := rollout(Rollout)
	figure(t, "lock gap", got.LockGapSeconds, 1)
	figure(t, "gap", got.GapSeconds, 5.2)
	if got.Class != Released || got.Winner != Replacement {
		t.Errorf("got %s, %s, void %q", got.Class, got.Winner, got.Void)
	}
	if got := rollout(""); !strings.Contains(got.Void, "Deployment was changed") {
		t.Errorf("a rollout that nobody asked for: void %q", got.Void)
	}
}

func TestMeasure_ARolloutOfTwoHandOvers(t *testing.T) {
	s := steady().fault(9, "rollout").of(Rollout).lease(10, "", 3).end(10.1).lease(11, "other", 4).work(11.1, "other").
		pod(11.2, PodSeen, "new", false).lease(12, "", 4).process(12.1, ProcessGone, "other").lease(13, "new", 5).work(13.1, "new")
	got := Measure(s.events, 1)
	figure(t, "lock gap", got.LockGapSeconds, 1)
	if got, want := causes(got), "old>other release, other>new release"; got != want {
		t.Errorf("causes %s, want %s", got, want)
	}
}

// In an outage nothing is seen, which is no reason to void it; who leads after it, and when somebody works again, is.
func TestMeasure_AnOutage(t *testing.T) {
	outage := func(kind FaultKind, holder string) Trial {
		s := steady().fault(9, "api-down").of(kind).add(10, Event{Kind: ServerAway}).process(20, ProcessGone, "old").process(21, ProcessUp, "old").
			add(35, Event{Kind: FaultEnded}).add(35.2, Event{Kind: ServerBack}).
			add(35.3, Event{Kind: WatchHole, HoleSeconds: 26, Note: "the API server did not answer, away for 26.00 s"})
		s.add(35.5, Event{Kind: LeaseSeen, Lease: &Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: 4, RenewTime: wall(25)}})
		hung := Event{Kind: WorkSeen, Work: &Work{Holder: holder, At: wall(9.01)}} // it landed when the server was back
		return Measure(s.add(35.6, hung).work(36, holder).events, 1)
	}
	for holder, want := range map[string]struct {
		class  Class
		winner Winner
		causes string
	}{"other": {Expired, Standby, "old>other slow-api"}, "old": {SameIdentity, Same, "old>old slow-api"}} {
		got := outage(Outage, holder)
		figure(t, "lock gap", got.LockGapSeconds, 0.5)
		figure(t, "gap", got.GapSeconds, 27)
		if got.Class != want.class || got.Winner != want.winner || causes(got) != want.causes || got.UncertaintySeconds != nil {
			t.Errorf("%s: got %s, %s, %s, void %q", holder, got.Class, got.Winner, causes(got), got.Void)
		}
	}
	if got := outage("", "other"); got.Void == "" {
		t.Error("an outage that nobody asked for counts")
	}
}

func TestHandOvers_TellACrashFromASilence(t *testing.T) {
	for name, c := range map[string]struct {
		script *script
		want   Cause
	}{
		"a process that ends at once": {steady().polling(2).fault(9, "kill").end(9.01).lease(24, "other", 4), ByCrash},
		"one that is asked to stop":   {steady().polling(2).fault(9, "graceful").log(9.1, "old", api.MessageSignal).end(14).lease(24, "other", 4), ByStop},
		"one that is deleted":         {steady().polling(2).fault(9, "graceful").pod(9.05, PodSeen, "old", true).end(9.1).lease(24, "other", 4), ByStop},
		"one that is deleted after":   {steady().polling(2).fault(9, "kill").end(9.01).pod(9.05, PodSeen, "old", true).lease(24, "other", 4), ByCrash},
		"one that lives":              {steady().polling(2).fault(9, "freeze").lease(24, "other", 4), BySilence},
		"one that gave up":            {steady().polling(2).fault(9, "cut-refuse").process(20, ProcessGone, "old").lease(24, "other", 4), BySilence},
		"one whose writes are refused": {steady().polling(2).fault(9, "deny").
			add(10, Event{Kind: LeaseRequest, Request: &Request{Verb: "update", Code: 422, Pod: "old", UID: "old-uid", Received: wall(10), Answered: wall(10)}}).lease(24, "other", 4), BySilence},
		"a valid record": {steady().polling(2).fault(9, "steal").lease(9.5, "stranger", 4), BySteal},
	} {
		got := Measure(c.script.events, 1)
		if len(got.HandOvers) != 1 || got.HandOvers[0].Cause != c.want {
			t.Errorf("%s: got %+v, want %s", name, got.HandOvers, c.want)
		}
	}
	still := steady().polling(2).fault(9, "kill").add(30, Event{Kind: WatchHole, Note: "this program stood still, away for 20.00 s", HoleSeconds: 20}).lease(30, "other", 4)
	if got := Measure(still.events, 1); got.Void == "" || len(got.HandOvers) != 0 {
		t.Errorf("labctl stood still: got %+v, void %q; want no cause", got.HandOvers, got.Void)
	}
	if got := Measure(steady().fault(9, "kill").add(9.5, Event{Kind: LeaseSeen, Lease: &Lease{Holder: "old", RenewTime: time.Time{}}}).events, 1); len(got.HandOvers) != 0 {
		t.Errorf("a renewal counts as a hand-over: %+v", got.HandOvers)
	}
}

// What the old leader writes, or tries to, after its successor's first work is counted; what came before is not.
func TestMeasure_CountsTheWritesOfAnOldLeader(t *testing.T) {
	s := steady().fault(9, "freeze").work(9.1, "old").lease(24, "other", 4).work(24.1, "other").work(24.3, "old")
	for _, at := range []float64{24.4, 24.5} {
		s.log(at, "old", api.MessageWriteRefused)
	}
	got := Measure(s.log(24.6, "old", api.MessageWriteFailed).events, 1)
	if got.LateWrites != 1 || got.RefusedWrites != 3 {
		t.Errorf("%d went through and %d were refused, want 1 and 3; void %q", got.LateWrites, got.RefusedWrites, got.Void)
	}
}

// The API server carried out what the holder asked for, and the holder waited in vain: neither a crash nor a cut.
func TestHandOvers_TellASlowAPIServer(t *testing.T) {
	request := func(s *script, at float64, verb string, code int) *script {
		return s.add(at, Event{Kind: LeaseRequest, Request: &Request{Verb: verb, Code: code, Pod: "old", UID: "old-uid", Received: wall(at), Answered: wall(at)}})
	}
	gaveUp := func(s *script, at float64) *script {
		return s.add(at, Event{Kind: LogLine, Log: &Log{Pod: "old", UID: "old-uid", Message: api.MessageLeaseRequest, Raw: `{"error":"context deadline exceeded"}`}})
	}
	slow := func(kind FaultKind) *script { return steady().fault(9, "slow").of(kind).lease(10.2, "old", 3) }
	for name, c := range map[string]struct {
		script *script
		want   string
	}{
		"answered, and given up":            {gaveUp(request(request(slow(Latency), 10.2, "update", 200), 14.2, "get", 200), 14.3), "old>other slow-api"},
		"the same without a known fault":    {gaveUp(request(slow(""), 14.2, "get", 200), 14.3), "old>other slow-api"},
		"given up, and not a request came":  {gaveUp(slow(Latency), 14.3), "old>other silence"},
		"answered, and nothing to complain": {request(slow(Latency), 14.2, "get", 200), "old>other silence"},
	} {
		got := Measure(c.script.lease(26, "other", 4).events, 1)
		if causes(got) != c.want {
			t.Errorf("%s: %s, want %s; %+v", name, causes(got), c.want, got.HandOvers)
		}
		if name == "answered, and given up" && (got.Void != "" || got.Class != Expired) {
			t.Errorf("%s: class %s, void %q", name, got.Class, got.Void)
		}
	}
}

// A node may tell of the new process later than the new process writes.
func TestHandOvers_TellACrashWhoseNewProcessIsQuick(t *testing.T) {
	for name, c := range map[string]struct {
		script *script
		want   string
	}{
		"the write comes first":       {steady().fault(9, "crash").process(9.01, ProcessGone, "old").lease(10.1, "old", 3).process(10.12, ProcessUp, "old").lease(12.1, "old", 3), "old>old crash"},
		"the process is told first":   {steady().fault(9, "crash").process(9.01, ProcessGone, "old").process(10.08, ProcessUp, "old").lease(10.1, "old", 3).lease(12.1, "old", 3), "old>old crash"},
		"a renewal that was sent yet": {steady().fault(9, "crash").process(9.01, ProcessGone, "old").lease(9.02, "old", 3).process(10.08, ProcessUp, "old").lease(10.1, "old", 3), "old>old crash"},
	} {
		if got := causes(Measure(c.script.events, 1)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
