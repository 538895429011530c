package board

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func wall(t float64) time.Time { return epoch.Add(time.Duration(t * float64(time.Second))) }

var config = Config{Header: report.Header{Provider: "embedded", Lease: "academy-build/academy-operator", Election: "plain", Identity: "pod", ReleaseOnCancel: new(true), Timing: api.Default(), PodStartLatencySeconds: 1.2},
	Namespace: "academy-build", SharedClock: true}

// script feeds a Board in run seconds. The pods are called old, other (a standby) and new (a replacement).
type script struct {
	b    *Board
	also func(timeline.Event) // may be nil
}

func (s script) on(t float64, e timeline.Event) script {
	e.Seconds, e.Wall = t, wall(t)
	if s.also != nil {
		s.also(e)
	}
	s.b.On(e)
	return s
}

func (s script) lease(t float64, holder string, transitions int) script {
	return s.on(t, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: transitions, RenewTime: wall(t - 0.004)}})
}

func (s script) pod(t float64, kind timeline.Kind, name string, terminating bool) script {
	return s.on(t, timeline.Event{Kind: kind, Pod: &timeline.Pod{Name: name, UID: name + "-uid", Phase: "Running", Ready: true, Terminating: terminating}})
}

func (s script) process(t float64, kind timeline.Kind, name string, restarts, code int) script {
	return s.on(t, timeline.Event{Kind: kind, Process: &timeline.Process{Pod: name, UID: name + "-uid", Restarts: restarts, ExitCode: code, At: wall(t)}})
}

func (s script) log(t float64, name, message string, restarts int) script {
	return s.on(t, timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: name, UID: name + "-uid", Restarts: restarts, Time: wall(t), Message: message}})
}

// works is work from a moment to another, ten times a second.
func (s script) works(from, to float64, name string, restarts int) script {
	for t := from; t < to; t += 0.1 {
		s.log(t, name, api.MessageReconcile, restarts)
	}
	return s
}

// polls are the attempts of a standby, three seconds apart.
func (s script) polls(from, to float64, name string) script {
	for t := from; t < to; t += 3 {
		s.log(t, name, api.MessageAttempt, 0)
	}
	return s
}

// steady is twenty seconds of a leader that works, until 20.
func steady() script { return steadyOn(config) }

func steadyOn(c Config) script {
	s := script{b: New(c)}
	s.pod(0, timeline.PodSeen, "old", false).pod(0, timeline.PodSeen, "other", false)
	for t := 0.0; t < 20; t += 2 {
		s.lease(t, "old", 3).works(t+0.05, t+2, "old", 0).log(t+1.99, "other", api.MessageAttempt, 0)
	}
	return s
}

func last(t *testing.T, s script, at float64) *Failover {
	t.Helper()
	failovers := s.b.At(at).Failovers
	if len(failovers) == 0 {
		t.Fatal("no failover was seen")
	}
	return failovers[0]
}

// What somebody does with kubectl in another terminal is announced by nobody.
func TestBoard_AFailoverThatNobodyAnnouncedIsClassed(t *testing.T) {
	for _, c := range []struct {
		name   string
		script script
		class  timeline.Class
		winner timeline.Winner
		gap    float64
		sign   string
		count  int
	}{
		{"pod deleted", steady().pod(20, timeline.PodSeen, "old", true).lease(20.05, "", 3).process(20.1, timeline.ProcessGone, "old", 0, 0).
			pod(20.2, timeline.PodGone, "old", true).lease(21.3, "other", 4).works(21.35, 26, "other", 0), timeline.Released, timeline.Standby, 1.25, "pod deleted", 1},
		{"pod removed by force", steady().pod(20, timeline.PodGone, "old", false).lease(20.05, "", 3).process(20.1, timeline.ProcessGone, "old", 0, 0).
			pod(20.3, timeline.PodSeen, "new", false).lease(21.3, "new", 4).works(21.35, 26, "new", 0), timeline.Released, timeline.Replacement, 1.25, "pod removed", 1},
		{"process killed", steady().process(20, timeline.ProcessGone, "old", 0, 137).polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 40, "other", 0),
			timeline.Expired, timeline.Standby, 16, "process ended, exit code 137", 1},
		{"restarted in place", steady().process(20, timeline.ProcessGone, "old", 0, 137).process(21, timeline.ProcessUp, "old", 1, 0).
			lease(21.1, "old", 3).works(21.2, 26, "old", 1), timeline.SameIdentity, timeline.Same, 1.1, "process ended, exit code 137", 1},
		{"Lease deleted", steady().on(20, timeline.Event{Kind: timeline.LeaseGone}).lease(21, "other", 0).works(21.1, 26, "other", 0),
			timeline.Deleted, timeline.Standby, -1, "Lease deleted", 1},
		{"Lease overwritten", steady().lease(19, "thief", 4), timeline.Stolen, "", -1, "Lease overwritten", 1},
		{"overwritten, then expired", steady().lease(19, "thief", 4).polls(20.5, 35, "other").lease(35, "other", 5).works(35.1, 40, "other", 0), timeline.Expired, timeline.Standby, 15, "Lease expired", 2},
		{"the holder hung", steady().polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 40, "other", 0), timeline.Expired, timeline.Standby, -1, "Lease expired", 1},
	} {
		f := last(t, c.script, 60)
		got := -1.0
		if f.Trial.LockGapSeconds != nil {
			got = *f.Trial.LockGapSeconds
		}
		if f.Trial.Class != c.class || f.Trial.Winner != c.winner || math.Abs(got-c.gap) > 1e-6 || f.Sign != c.sign {
			t.Errorf("%s: got %s, winner %q, gap %v, sign %q (void %q); want %s, %q, %v, %q", c.name, f.Trial.Class, f.Trial.Winner, got, f.Sign, f.Trial.Void, c.class, c.winner, c.gap, c.sign)
		}
		if n := len(c.script.b.At(60).Failovers); n != c.count {
			t.Errorf("%s: got %d failovers, want %d", c.name, n, c.count)
		}
	}
}

func TestBoard_AnAnnouncedFailoverHasItsModeAndTakesTheRunsFigures(t *testing.T) {
	s := steady()
	fault := &timeline.Fault{Mode: "kill", Pod: "old", UID: "old-uid", Standbys: []string{"other"}, StandbyUIDs: []string{"other-uid"}, SharedClock: true}
	s.on(20, timeline.Event{Kind: timeline.FaultIssued, Trial: 1, Fault: fault}).on(20.01, timeline.Event{Kind: timeline.FaultAccepted})
	s.process(20.01, timeline.ProcessGone, "old", 0, 137).polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 36.3, "other", 0)
	f := last(t, s, 36.4)
	if f.Sign != "" || f.Trial.Mode != "kill" || f.Trial.Class != timeline.Expired || *f.Trial.LockGapSeconds != 15.99 || f.Predicted.MinSeconds != 13 {
		t.Errorf("got %+v", f)
	}
	lock, gap := 15.5, 16.5
	s.b.Measured(timeline.Trial{Mode: "kill", Class: timeline.Expired, LockGapSeconds: &lock, GapSeconds: &gap, InstantsSeconds: map[string]float64{timeline.T5: 15.51, timeline.T7: 16.5}})
	s.works(36.3, 38, "other", 0).on(40, timeline.Event{Kind: timeline.TrialEnded, Trial: 1})
	if f := last(t, s, 41); *f.Trial.LockGapSeconds != lock || !f.Ended {
		t.Errorf("got %+v, want the run's own figure", f.Trial)
	}
}

func TestBoard_WhatIsShownOfAMomentIsWhatWasKnownThen(t *testing.T) {
	s := steady().process(20, timeline.ProcessGone, "old", 0, 137).polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 45, "other", 0)
	b := s.b
	if got := b.At(19.9); len(got.Failovers) != 0 || got.Lease.Holder != "old" || !slices.Equal(got.Leaders, []string{"old"}) || got.Last != nil {
		t.Errorf("before: got %+v", got)
	}
	got := b.At(30)
	if f := got.Failovers[0]; f.Trial.LockGapSeconds != nil || f.Trial.Class != timeline.Unknown || f.Ended || len(got.Leaders) != 0 || got.HolderLives {
		t.Errorf("in the gap: got %+v", f)
	}
	if w := got.Now; w.Failover == nil || math.Abs(w.Now-12.004) > 1e-6 || math.Abs(w.Now-got.Age) > 1e-6 || !math.IsNaN(w.Landed) || math.Abs(w.Earliest-(15+1.994)) > 0.01 || math.Abs(w.Latest-(15+1.994+4.4)) > 0.01 {
		t.Errorf("in the gap: got the window %+v", w)
	}
	if got := b.At(44); got.Last == nil || math.Abs(got.Last.Landed-18.004) > 1e-6 || got.Now == nil || got.Now.Failover != nil {
		t.Errorf("after: got %+v", got.Last)
	}
}

func TestBoard_LanesTellReleaseFromExpiry(t *testing.T) {
	cells := func(lanes []Lane, name string) []Cell {
		for _, l := range lanes {
			if l.Name == name {
				return l.Cells
			}
		}
		return nil
	}
	released := steady().pod(20, timeline.PodSeen, "old", true).lease(20.5, "", 3).process(21.1, timeline.ProcessGone, "old", 0, 0).lease(22.3, "other", 4).works(23.01, 26, "other", 0)
	lanes := released.b.Lanes(26, 1, 8)
	if got, want := cells(lanes, "old"), []Cell{CellWorks, CellWorks, CellReleased, CellStopped, CellNone, CellNone, CellNone, CellNone}; !slices.Equal(got, want) {
		t.Errorf("old: got %v, want %v", got, want)
	}
	if got, want := cells(lanes, "other"), []Cell{CellStandby, CellStandby, CellStandby, CellStandby, CellTaken, CellWorks, CellWorks, CellWorks}; !slices.Equal(got, want) {
		t.Errorf("other: got %v, want %v", got, want)
	}
	expired := steady().process(20, timeline.ProcessGone, "old", 0, 137).process(21, timeline.ProcessUp, "old", 1, 0).lease(36.5, "other", 4).works(37, 38, "other", 0)
	lanes = expired.b.Lanes(38, 1, 19)
	if got := cells(lanes, "old"); got[1] != CellStopped || got[2] != CellRestarted || got[3] != CellHolds || got[18] != CellStandby {
		t.Errorf("old: got %v", got)
	}
	if got := cells(lanes, "other"); got[17] != CellExpired || got[18] != CellWorks {
		t.Errorf("other: got %v", got)
	}
}

func TestBoard_TwoLeadersAreTheWorkOfTheOldOneAfterTheNewOneBegan(t *testing.T) {
	overlap := func(b *Board) bool {
		for _, l := range b.Lanes(30, 1, 20) {
			if slices.Contains(l.Cells, CellOverlap) {
				return true
			}
		}
		return false
	}
	s := steady().lease(20, "", 3).works(20, 20.5, "old", 0).lease(20.5, "other", 4).works(20.6, 26, "other", 0)
	if overlap(s.b) {
		t.Error("a hand-over is told as two leaders")
	}
	for t := 20.55; t < 23; t += 0.1 { // work that is seen before the takeover is
		s.log(t, "old", api.MessageReconcile, 0).log(t+0.02, "other", api.MessageReconcile, 0)
	}
	s.works(23, 26, "other", 0)
	if !overlap(s.b) {
		t.Error("two leaders are not told")
	}
	back := steady().lease(19, "", 3).lease(19.2, "other", 4).works(19.3, 22, "other", 0).lease(22, "", 4).
		works(22.2, 22.4, "old", 0).lease(22.4, "old", 5).works(22.4, 26, "old", 0)
	if overlap(back.b) {
		t.Error("work that was seen before its takeover is told as two leaders")
	}
}

func TestBoard_AnOutageIsShownWhileItLastsAndTheMemoryStays(t *testing.T) {
	s := steady().on(22, timeline.Event{Kind: timeline.ServerAway})
	if got := s.b.At(25); got.Away != 4 || got.Lease.Holder != "old" {
		t.Errorf("away for %v, holder %q; want 4 s, and the last known", got.Away, got.Lease.Holder)
	}
	s.on(140, timeline.Event{Kind: timeline.ServerBack}).lease(140, "old", 3)
	if got := s.b.At(141); got.Away != 0 {
		t.Errorf("away for %v after it answered", got.Away)
	}
	if lanes := s.b.Lanes(141, 2, 70); !slices.Contains(lanes[0].Cells, CellWorks) {
		t.Error("the memory of what was before is gone")
	}
}

func TestBoard_ALabThatWentLeavesNoFailoverOpen(t *testing.T) {
	s := steady().pod(20, timeline.PodSeen, "old", true).lease(20.05, "", 3)
	s.b.Forget(25)
	s.pod(30, timeline.PodSeen, "next", false).lease(30, "next", 0)
	got := s.b.At(31)
	if !got.Failovers[0].Ended || got.Now == nil || got.Now.Failover != nil || got.Lease.Holder != "next" {
		t.Errorf("got %+v, window %+v", got.Failovers[0], got.Now)
	}
	if f := s.b.At(22).Failovers[0]; f.Ended {
		t.Error("in the past it is over, too")
	}
}

func TestBoard_AFollowedLeaseHasTheIdentitiesSeenAsLanes(t *testing.T) {
	s := script{b: New(Config{Header: report.Header{Lease: "kube-system/some"}, Followed: true, SharedClock: true})}
	for t := 0.0; t < 20; t += 2 {
		s.lease(t, "node-1_6f2b", 0)
	}
	s.lease(36, "node-2_77aa", 1)
	lanes := s.b.Lanes(37, 1, 40)
	if len(lanes) != 2 || lanes[0].Name != "node-1_6f2b" || !lanes[1].Holds || s.b.Config().Timing.RetryPeriod != 2*time.Second {
		t.Errorf("got %+v, retry %s", lanes, s.b.Config().Timing.RetryPeriod)
	}
	if f := last(t, s, 37); f.Trial.Class != timeline.Expired || *f.Trial.HolderAfter != "node-2_77aa" {
		t.Errorf("got %+v", f.Trial)
	}
}

// hour is a synthetic hour of replicas that all work ten times a second, with a failover each minute.
func hour(b *Board, replicas int) (events int) {
	s := script{b: b}
	for i := range replicas {
		s.pod(0, timeline.PodSeen, fmt.Sprintf("pod-%d", i), false)
	}
	for tick := range 36000 {
		t := float64(tick) / 10
		holder := fmt.Sprintf("pod-%d", int(t/60)%replicas)
		if tick%20 == 0 {
			s.lease(t, holder, int(t/60))
			events++
		}
		for i := range replicas {
			name := fmt.Sprintf("pod-%d", i)
			s.log(t, name, api.MessageReconcile, 0)
			s.on(t, timeline.Event{Kind: timeline.WorkSeen, Work: &timeline.Work{Object: "w", Holder: name, At: wall(t)}})
			events += 2
		}
	}
	return events
}

func TestBoard_AnHourOfTenReplicasIsSmall(t *testing.T) {
	b := New(config)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	n := hour(b, 10)
	took := time.Since(begun)
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d events in %s, %d MiB kept, %d failovers", n, took, kept, len(b.failovers))
	if kept > 60 {
		t.Errorf("an hour takes %d MiB, want at most 60", kept)
	}
	runtime.KeepAlive(b)
}

func BenchmarkBoard_At(b *testing.B) {
	board := New(config)
	hour(board, 10)
	for b.Loop() {
		board.At(3599)
		board.Lanes(3599, 1, 100)
	}
}
