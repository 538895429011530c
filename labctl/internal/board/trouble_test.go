package board

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func laneOf(t *testing.T, b *Board, at, step float64, n int, name string) Lane {
	t.Helper()
	for _, l := range b.Lanes(at, step, n) {
		if l.Name == name {
			return l
		}
	}
	t.Fatalf("no lane of %s at %g", name, at)
	return Lane{}
}

func near(a, b float64) bool { return math.Abs(a-b) < 0.05 }

func TestBoard_ALabThatWentIsRememberedAndMarkedAsLost(t *testing.T) {
	s := steady()
	s.b.Forget(20)
	got := s.b.At(23.5)
	if !got.Known || got.Lost != 3.5 || got.Lease.Holder != "old" || !near(got.Age, 5.504) || got.Nobody != 0 || got.Now != nil || got.NoWindow == "" {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"old", "other"} {
		lane := laneOf(t, s.b, 24, 1, 10, name)
		if lane.State != "unknown" || lane.Gone || lane.Cells[5] == CellUnknown || !slices.Equal(lane.Cells[6:], []Cell{CellUnknown, CellUnknown, CellUnknown, CellUnknown}) {
			t.Errorf("%s: got %+v", name, lane)
		}
	}
	if before := s.b.At(19); before.Lost != 0 || before.Now == nil {
		t.Errorf("before: got %+v", before)
	}
}

func TestBoard_AfterAnInterruptionTheSamePodsGoOnAndOthersEnd(t *testing.T) {
	s := steady()
	s.b.Forget(20)
	s.b.Resume(28)
	s.on(28.1, timeline.Event{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: "old", UID: "old-uid", Ready: true, Restarts: 1}}).lease(28.2, "old", 3).works(28.3, 32, "old", 1)
	old := laneOf(t, s.b, 32, 1, 14, "old")
	if old.State != "works" || old.Cells[1] != CellWorks || old.Cells[3] != CellUnknown || old.Cells[9] != CellUnknown || old.Cells[10] != CellRestarted || old.Cells[13] != CellWorks {
		t.Errorf("old: got %+v", old)
	}
	other := laneOf(t, s.b, 32, 1, 14, "other")
	if other.State != "gone" || !other.Gone || other.Cells[9] != CellUnknown || other.Cells[12] != CellNone {
		t.Errorf("other: got %+v", other)
	}
	s.b.Forget(33)
	if lane := laneOf(t, s.b, 36, 1, 14, "other"); lane.State != "gone" || lane.Cells[13] != CellNone {
		t.Errorf("another interruption brings back what the first one ended: %+v", lane)
	}
	if got := s.b.At(32); got.Lost != 0 || got.Lease.Holder != "old" || len(got.Failovers) != 0 {
		t.Errorf("got %+v", got)
	}
}

// A line stays for as long as any of it is in the window: also the part in which only the record names the replica.
func TestBoard_ALaneStaysAsLongAsAnyOfItIsInTheWindow(t *testing.T) {
	s := steady().process(20, timeline.ProcessGone, "old", 0, 137).pod(20.1, timeline.PodGone, "old", false).polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 60, "other", 0)
	if lane := laneOf(t, s.b, 44, 1, 10, "old"); lane.Cells[0] != CellNamed || lane.State != "gone" {
		t.Errorf("got %+v", lane)
	}
	for _, l := range s.b.Lanes(47, 1, 10) {
		if l.Name == "old" {
			t.Errorf("nothing of it is in the window, but got %+v", l)
		}
	}
	if len(s.b.Log("old", 44)) != 0 {
		t.Error("a log from nowhere")
	}
}

// Where no node tells of processes, a pod that goes leaves a sign of its end.
func TestBoard_ALaneOfAPodThatWentEndsWithItsEnd(t *testing.T) {
	s := steady().pod(20.5, timeline.PodGone, "other", false)
	if lane := laneOf(t, s.b, 25, 1, 10, "other"); lane.Cells[5] != CellStopped || lane.Cells[6] != CellNone {
		t.Errorf("got %+v", lane)
	}
}

// The record is overwritten by hand: the leader goes on until its RenewDeadline, and then nobody leads until the record expires.
func TestBoard_ARecordInANameWithoutAProcessLeadsNobody(t *testing.T) {
	s := steady().on(20.5, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "mallory", LeaseDurationSeconds: 15, Transitions: 3, RenewTime: wall(17.996)}}).
		works(20, 28.05, "old", 0)
	if got := s.b.At(25); got.Nobody != 0 || got.HolderLives || !slices.Equal(got.Leaders, []string{"old"}) {
		t.Errorf("while the old one works: got %+v", got)
	}
	s.process(28.05, timeline.ProcessGone, "old", 0, 1).process(28.8, timeline.ProcessUp, "old", 1, 0).polls(29, 35, "other")
	got := s.b.At(33)
	if got.Nobody < 4.8 || got.Nobody > 5.1 || got.HolderLives || got.Now == nil || !near(got.Now.Earliest, 15) || !near(got.Now.Now, 12.5) || !near(got.Age, 15.004) {
		t.Errorf("after: nobody for %v, window %+v", got.Nobody, got.Now)
	}
	if lane := laneOf(t, s.b, 33, 1, 5, "mallory"); lane.State != "named" || lane.Cells[4] != CellNamed {
		t.Errorf("got %+v", lane)
	}
	s.lease(36, "other", 4).works(36.1, 41, "other", 0)
	list := s.b.At(41).Failovers
	if len(list) != 2 || list[0].Trial.Class != timeline.Expired || list[0].Trial.LockGapSeconds == nil || !near(*list[0].Trial.LockGapSeconds, 7.9) || list[1].Sign != "Lease overwritten" {
		t.Fatalf("got %d: %+v", len(list), list[0].Trial)
	}
	if during := s.b.At(33).Failovers; len(during) != 1 || during[0].Trial.LockGapSeconds != nil {
		t.Errorf("then: got %+v", during[0].Trial)
	}
}

// Of a Lease that nobody renews nothing is said that was not seen.
func TestBoard_ALeaseThatNobodyRenewsHasNoWindow(t *testing.T) {
	scene := func(l timeline.Lease) *Board {
		s := script{b: New(Config{Header: report.Header{Lease: "ns/some"}, Followed: true, SharedClock: true})}
		return s.on(1, timeline.Event{Kind: timeline.LeaseSeen, Lease: &l}).b
	}
	seen := func(l timeline.Lease) Snapshot { return scene(l).At(3.3) }
	for name, c := range map[string]struct {
		lease          timeline.Lease
		window         string
		age, ahead     float64
		renewed, freed bool
	}{
		"renewed long ago":            {timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(-250)}, "no renewal was seen", 253.3, 0, false, false},
		"renewed a moment ago":        {timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(0)}, "", 3.3, 0, true, false},
		"renewed in a year":           {timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(365 * 24 * 3600)}, "no renewal was seen", 0, 365*24*3600 - 3.3, false, false},
		"without renewTime":           {timeline.Lease{Holder: "a", LeaseDurationSeconds: 15}, "no renewal was seen", 2.3, 0, false, false},
		"without a duration":          {timeline.Lease{Holder: "a", RenewTime: wall(0)}, "no leaseDurationSeconds", 3.3, 0, false, false},
		"empty, released by nobody":   {timeline.Lease{}, "nobody holds", 2.3, 0, false, false},
		"empty, with a time":          {timeline.Lease{LeaseDurationSeconds: 1, RenewTime: wall(-250)}, "nobody holds", 253.3, 0, false, false},
		"without a duration, written": {timeline.Lease{Holder: "b", Transitions: 9}, "no leaseDurationSeconds", 2.3, 0, false, false},
	} {
		got := seen(c.lease)
		if c.lease.Holder != "" {
			if lane := laneOf(t, scene(c.lease), 3.3, 1, 2, c.lease.Holder); (lane.State == "holds") != c.renewed || (lane.Cells[1] == CellHolds) != c.renewed {
				t.Errorf("%s: got the lane %+v", name, lane)
			}
		}
		if (got.Now == nil) != (c.window != "") || !strings.Contains(got.NoWindow, c.window) || !near(got.Age, c.age) || math.Abs(got.Ahead-c.ahead) > 1 || got.Renewed != c.renewed || got.Freed != c.freed {
			t.Errorf("%s: got %+v", name, got)
		}
		if want := 2.3; c.lease.Holder == "" && !near(got.Nobody, want) || c.lease.Holder != "" && got.Nobody != 0 {
			t.Errorf("%s: nobody for %v", name, got.Nobody)
		}
	}
}

func TestBoard_WhatLeavesTheRecordAsItIsIsNoRenewal(t *testing.T) {
	s := script{b: New(Config{Followed: true, SharedClock: true})}
	lease := timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(-250)}
	for i, version := range []string{"1", "2", "3"} {
		l := lease
		l.ResourceVersion = version
		s.on(float64(i), timeline.Event{Kind: timeline.LeaseSeen, Lease: &l})
	}
	if got := s.b.At(5); got.Renewed || got.Now != nil || s.b.Config().Timing.RetryPeriod != 0 {
		t.Errorf("an annotation counts as a renewal: %+v", got)
	}
}

func TestBoard_ReleasedRecordHasTheAgeOfItsRelease(t *testing.T) {
	s := steady().lease(20.05, "", 3)
	if got := s.b.At(21); !near(got.Age, 0.954) || !got.Freed || !near(got.FreeFor, 0.95) || !near(got.Nobody, 0.95) {
		t.Errorf("got age %v, free for %v (%t), nobody for %v", got.Age, got.FreeFor, got.Freed, got.Nobody)
	}
}

func TestBoard_TheBeginningIsWhenAllThatWasThereHadBeenTold(t *testing.T) {
	s := script{b: New(config)}
	s.pod(0.02, timeline.PodSeen, "old", false).lease(0.05, "old", 3).pod(0.06, timeline.PodSeen, "other", false).log(0.3, "old", "x", 0).lease(2, "old", 3)
	first, _ := s.b.Span()
	if got := s.b.At(first); first != 0.06 || !got.Known || got.Lease.Holder != "old" || !got.HolderLives {
		t.Errorf("at %v: got %+v", first, got)
	}
	for _, l := range s.b.Lanes(first, 1, 5) {
		if l.State == "starting" {
			t.Errorf("%s is told to start", l.Name)
		}
	}
}

func TestBoard_AMissingLeaseIsToldOnceAllWasListed(t *testing.T) {
	s := script{b: New(Config{Followed: true, SharedClock: true})}
	s.b.Begin(epoch)
	if got := s.b.At(0.5); got.Known {
		t.Error("something is known before anything was told")
	}
	s.b.Listed(1)
	if got := s.b.At(2); !got.Known || got.Lease != nil || got.NoWindow != "no Lease is held" || !got.Wall.Equal(wall(2)) {
		t.Errorf("got %+v", got)
	}
	s.lease(3, "a", 0)
	s.b.Listed(3.5)
	if got := s.b.At(4); got.Lease == nil || got.Lease.Holder != "a" || !got.Renewed {
		t.Errorf("got %+v", got)
	}
	if lane := laneOf(t, s.b, 4, 1, 3, "a"); lane.Cells[2] != CellTaken {
		t.Errorf("got %+v", lane)
	}
}

func TestBoard_WhatTheLabSettlesIsNotSomebodysDoing(t *testing.T) {
	s := steady()
	s.b.Settle(true)
	s.pod(20, timeline.PodSeen, "old", true).lease(20.05, "", 3).process(20.1, timeline.ProcessGone, "old", 0, 0).lease(21.3, "other", 4).works(21.35, 26, "other", 0)
	if f := last(t, s, 26); !f.Settling || f.Trial.Class != timeline.Released {
		t.Errorf("got %+v", f)
	}
	s.on(30, timeline.Event{Kind: timeline.FaultIssued, Trial: 1, Fault: &timeline.Fault{Mode: "kill", Pod: "other", UID: "other-uid", SharedClock: true}})
	if f := last(t, s, 31); f.Settling || f.Sign != "" {
		t.Errorf("got %+v", f)
	}
}

func TestBoard_ShowsNoControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\nb"
	s := script{b: New(Config{Header: report.Header{Lease: evil}, Followed: true, SharedClock: true})}
	s.lease(0, evil, 0).on(1, timeline.Event{Kind: timeline.WatchHole, Note: evil}).pod(1, timeline.PodSeen, evil, false).lease(3, "other", 1)
	s.on(4, timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{UID: timeline.Visible(evil) + "-uid", Time: wall(4), Message: evil, Raw: evil, Level: evil}})
	got := s.b.At(5)
	texts := []string{s.b.Config().Lease, got.Lease.Holder, s.b.Holes(5, 10)[0].Note, got.Failovers[0].Trial.HolderBefore, got.Failovers[0].Fault.Pod}
	for _, l := range s.b.Lanes(5, 1, 9) {
		texts = append(texts, l.Name)
		for _, line := range s.b.Log(l.Name, 5) {
			texts = append(texts, line.Text, line.Raw, line.Level)
		}
	}
	if len(texts) < 9 || strings.ContainsAny(strings.Join(texts, ""), "\x1b\n") {
		t.Errorf("got %q", texts)
	}
}

func TestBoard_AFutureOrHugeAgeStaysANumber(t *testing.T) {
	s := script{b: New(Config{Followed: true, SharedClock: true})}
	s.on(1, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: math.MaxInt32, RenewTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}})
	if got := s.b.At(2); math.IsNaN(got.Age) || math.IsInf(got.Age, 0) || got.Age < 0 {
		t.Errorf("got %v", got.Age)
	}
}

// A record may say any number: none of them makes the model work for hours, or divide by nothing.
func TestBoard_AnyDurationsAreDrawnAtOnce(t *testing.T) {
	for _, seconds := range []int{0, 1, 15, math.MaxInt32} {
		for _, pause := range []float64{0, 0.01, 3000} {
			s := script{b: New(Config{Followed: true, SharedClock: true})}
			for i := range 4 {
				at := float64(i) * pause
				s.on(at, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: seconds, RenewTime: wall(at)}})
			}
			s.on(1e6, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "b", LeaseDurationSeconds: seconds, Transitions: 1, RenewTime: wall(1e6)}})
			s.b.At(1e6 + 1)
			s.b.Lanes(1e6+1, 1, 100)
		}
	}
}

func TestBoard_ALogTellsWhatCameSeveralTimesOnce(t *testing.T) {
	s := steady()
	s.log(20, "other", "something else", 0).polls(21, 30, "other")
	got := s.b.Log("other", 28)
	if len(got) != 3 || got[0].Count != 10 || !near(got[0].Last, 19.99) || got[1].Count != 1 || got[2].Count != 3 || got[2].Last != 27 {
		t.Errorf("got %+v", got)
	}
}

// The watching begins in the middle of a gap: how old the record is, its renewTime tells; how long nobody led, nothing does.
func TestBoard_AGapThatBeganBeforeTheWatchingIsNoTheft(t *testing.T) {
	s := script{b: New(config)}
	s.on(0, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "gone", LeaseDurationSeconds: 15, Transitions: 3, RenewTime: wall(-10)}}).
		pod(0.1, timeline.PodSeen, "other", false).polls(1, 6, "other")
	if got := s.b.At(4); got.Nobody < 3.5 || !got.AtLeast {
		t.Errorf("got nobody for %v, at least %t", got.Nobody, got.AtLeast)
	}
	s.lease(6.5, "other", 4).works(6.6, 12, "other", 0)
	f := last(t, s, 12)
	if f.Sign != "Lease expired" || f.Trial.Class != timeline.Expired || f.Trial.LockGapSeconds != nil {
		t.Errorf("got %q, %+v", f.Sign, f.Trial)
	}
	if lane := laneOf(t, s.b, 12, 1, 12, "other"); lane.Cells[6] != CellExpired {
		t.Errorf("got %v", lane.Cells)
	}
}

// Where the API server elects, no candidate's polls tell when the next one comes: the window is that of its own looks, 5 and 5 s.
func TestBoard_TheWindowOfACoordinatedElectionIsTheAPIServers(t *testing.T) {
	c := config
	c.Election = api.ElectionCoordinated
	s := steadyOn(c).polls(19, 25, "other")
	if w := s.b.At(20).Now; w == nil || w.Earliest != 15 || w.Latest != 25 {
		t.Errorf("got %+v, want 15 to 25 s", w)
	}
}
