package timeline

import (
	"testing"

	"academy.example/lab/operator/api"
)

// elected is a Lease as a coordinated election leaves it: by the controller for 5 s, by a holder for 15.
func (s *script) elected(t float64, holder string, seconds int, preferred string, renewed float64) *script {
	return s.add(t, Event{Kind: LeaseSeen, Lease: &Lease{Holder: holder, LeaseDurationSeconds: seconds, RenewTime: wall(renewed), Strategy: "OldestEmulationVersion", PreferredHolder: preferred}})
}

// coordinated is ten seconds of a leader that the API server has elected.
func coordinated() *script {
	s := &script{}
	for t := 0.0; t < 10; t += 2 {
		s.elected(t, "old", 15, "", t).log(t+0.1, "old", api.MessageReconcile).log(t+1, "other", api.MessageAttempt)
	}
	return s
}

// released is a release: it drops the strategy.
func (s *script) released(t float64) *script {
	return s.add(t, Event{Kind: LeaseSeen, Lease: &Lease{LeaseDurationSeconds: 1, RenewTime: wall(t)}})
}

func TestElected_TheOldHolderNamedAgainIsNoTakeover(t *testing.T) {
	s := coordinated().fault(10, "graceful").released(10.1).elected(10.2, "old", 5, "", 10.2).end(10.3).
		elected(17, "other", 5, "", 17).elected(18.5, "other", 15, "", 18.5).log(18.6, "other", api.MessageStartedLead).log(18.7, "other", api.MessageReconcile)
	got := Measure(s.events, 1)
	if got.Void != "" || got.Class != Released || got.Winner != Standby || !nearly(got.LockGapSeconds, 6.9) {
		t.Fatalf("got %s %s %v: %s", got.Class, got.Winner, got.LockGapSeconds, got.Void)
	}
	if e := got.Elected; e == nil || e.NamedGone != 1 || e.Preferred != 0 || !nearly(e.NoticedSeconds, 1.5) {
		t.Errorf("got %+v, want one naming of the old holder, and 1.5 s until the new one noticed", e)
	}
	if len(got.HandOvers) != 1 || got.HandOvers[0].To != "other" || got.HandOvers[0].Cause != ByRelease {
		t.Errorf("got hand-overs %+v, want one, by release", got.HandOvers)
	}
	if got.Terms != nil {
		t.Errorf("got terms %+v of an election that nobody polls for", got.Terms)
	}
}

func TestElected_APreferredHolderIsNoRenewal(t *testing.T) {
	s := coordinated().fault(10, "kill").end(10.1).elected(13, "old", 15, "other", 8).elected(24, "other", 5, "", 24).elected(25, "other", 15, "", 25).log(25.1, "other", api.MessageReconcile)
	got := Measure(s.events, 1)
	if got.Void != "" || got.Class != Expired || !nearly(got.LockGapSeconds, 13.9) || got.Elected.Preferred != 1 {
		t.Fatalf("got %s %v %+v: %s", got.Class, got.LockGapSeconds, got.Elected, got.Void)
	}
	if len(got.HandOvers) != 1 || got.HandOvers[0].Cause != ByCrash {
		t.Errorf("got hand-overs %+v, want one, by a crash", got.HandOvers)
	}
}

// In the classic election the same record is somebody's doing, and the trial does not count.
func TestElected_OtherwiseALeaseOfFiveSecondsVoids(t *testing.T) {
	s := steady().fault(10, "kill").end(10.1).elected(27, "other", 5, "", 27)
	if got := Measure(s.events, 1); got.Void == "" || got.Elected != nil {
		t.Errorf("got %+v, want a void trial", got)
	}
}

// nearly compares within a hundredth; nil is no figure.
func nearly(got *float64, want float64) bool {
	return got != nil && *got > want-0.01 && *got < want+0.01
}

func upgraded(s *script) *script {
	for i := range s.events {
		if f := s.events[i].Fault; f != nil {
			f.Kind, f.From, f.To = Rollout, "1.0.0", "1.1.0"
		}
	}
	return s
}

func TestUpgrade_WhoLedWhileBothWereThere(t *testing.T) {
	begin := func() *script {
		return coordinated().fault(10, "upgrade").pod(11, PodSeen, "new", false).released(20).pod(20, PodSeen, "old", true).end(20.1)
	}
	for name, c := range map[string]struct {
		script    *script
		contested bool
		newer     float64
	}{
		"the older one": {begin().elected(26, "other", 5, "", 26).log(26.5, "other", api.MessageReconcile).pod(40, PodSeen, "other", true).
			released(40.1).elected(41, "new", 15, "", 41).log(41.1, "new", api.MessageReconcile), true, 0},
		"the newer one beside it": {begin().elected(21, "new", 15, "", 21).log(21.1, "new", api.MessageReconcile).pod(40, PodSeen, "other", true), true, 19},
		"the newer one alone":     {begin().pod(21, PodSeen, "other", true).elected(22, "new", 15, "", 22).log(22.1, "new", api.MessageReconcile), false, 0},
	} {
		s := upgraded(c.script)
		s.add(60, Event{Kind: TrialEnded})
		got := Measure(s.events, 1)
		if u := got.Upgrade; u == nil || u.Contested != c.contested || !nearly(&u.NewerLedSeconds, c.newer) || u.From != "1.0.0" || u.To != "1.1.0" {
			t.Errorf("%s: got %+v (%s), want contested %t, newer %.1f s", name, u, got.Void, c.contested, c.newer)
		}
	}
	if got := Measure(begin().elected(26, "other", 5, "", 26).events, 1); got.Upgrade != nil {
		t.Errorf("a fault that is no upgrade: got %+v", got.Upgrade)
	}
}
