// Package pulse tells of a recorded run what a reader of the Lease's heartbeat would have been told at every moment of it.
package pulse

import (
	"math"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/lease/heartbeat"
)

// Pulse is one trial, from the fault to its end.
type Pulse struct {
	Trial int    `json:"trial"`
	Mode  string `json:"mode"`
	// LeaderlessSeconds is for how long the Lease had no holder, or named a process that was gone; nil if the run does not tell of
	// processes.
	LeaderlessSeconds *float64 `json:"leaderlessSeconds"`
	// NoHeartbeatSeconds is for how long a reader would have been told no, and Reasons are the rules that failed, each once.
	NoHeartbeatSeconds float64  `json:"noHeartbeatSeconds"`
	Reasons            []string `json:"reasons"`
	// OldestSeconds is the greatest age that a holder's renewal reached.
	OldestSeconds float64 `json:"oldestSeconds"`
}

// The reasons, without figures: in a trial they last for a while.
const (
	NoHolder = "no holder"
	Stale    = "last renewed too long ago"
	Missing  = "no Lease"
	Never    = "never renewed"
)

// Of tells every trial that ended, in order of number. The reader's clock is the observer's.
func Of(events []timeline.Event) []Pulse {
	pulses := []Pulse{}
	for _, lane := range timeline.Lanes(events) {
		own := timeline.Lane(events, lane)
		for i, e := range own {
			if e.Kind == timeline.TrialEnded {
				pulses = append(pulses, of(timeline.Cut(own[:i+1], e.Trial), e.Trial))
			}
		}
	}
	slices.SortFunc(pulses, func(a, b Pulse) int { return a.Trial - b.Trial })
	return pulses
}

// Silence is NoHeartbeatSeconds by the trial's number.
func Silence(events []timeline.Event) map[int]float64 {
	out := map[int]float64{}
	for _, p := range Of(events) {
		out[p.Trial] = p.NoHeartbeatSeconds
	}
	return out
}

// state is what holds from one event to the next.
type state struct {
	lease *timeline.Lease // nil if there is none
	gone  map[string]bool // pods whose process has ended
}

func of(events []timeline.Event, trial int) Pulse {
	p := Pulse{Trial: trial, Reasons: []string{}}
	s := state{gone: map[string]bool{}}
	begun, processes, leaderless, last := false, false, 0.0, 0.0
	for _, e := range events {
		if begun {
			long := e.Seconds - last
			if s.leaderless() {
				leaderless += long
			}
			p.heard(s.lease, e.Wall, long)
		}
		if e.Kind == timeline.FaultIssued && e.Trial == trial {
			begun = true
			if e.Fault != nil {
				p.Mode = e.Fault.Mode
			}
		}
		processes = processes || e.Process != nil
		last = e.Seconds
		s.on(e)
	}
	p.NoHeartbeatSeconds, p.OldestSeconds = round(p.NoHeartbeatSeconds), round(p.OldestSeconds)
	if processes {
		leaderless = round(leaderless)
		p.LeaderlessSeconds = &leaderless
	}
	return p
}

func (s *state) on(e timeline.Event) {
	switch {
	case e.Kind == timeline.LeaseSeen && e.Lease != nil:
		s.lease = e.Lease
	case e.Kind == timeline.LeaseGone:
		s.lease = nil
	case e.Kind == timeline.ProcessGone && e.Process != nil:
		s.gone[e.Process.Pod] = true
	case e.Kind == timeline.ProcessUp && e.Process != nil:
		s.gone[e.Process.Pod] = false
	}
}

func (s *state) leaderless() bool {
	return s.lease == nil || s.lease.Holder == "" || s.gone[timeline.PodOf(s.lease.Holder)]
}

// heard adds a while of that many seconds, in which the Lease did not change, and which ended at a moment of the wall clock.
func (p *Pulse) heard(lease *timeline.Lease, end time.Time, long float64) {
	if lease == nil {
		p.silent(Missing, long)
		return
	}
	got := Judge(*lease, end)
	if lease.Holder != "" && got.Age != nil {
		p.OldestSeconds = max(p.OldestSeconds, got.Age.Seconds())
	}
	switch {
	case got.Verdict == heartbeat.Yes:
	case lease.Holder == "":
		p.silent(NoHolder, long)
	case got.Age == nil || got.Limit == nil:
		p.silent(Never, long)
	default: // a part of it may have been within the window
		p.silent(Stale, min(long, (*got.Age-*got.Limit).Seconds()))
	}
}

// Judge applies the heartbeat's rules to a Lease as a record keeps it, in which a duration of 0 is none.
func Judge(lease timeline.Lease, now time.Time) heartbeat.Reading {
	record := heartbeat.Record{Holder: lease.Holder, RenewTime: lease.RenewTime}
	if d := int32(lease.LeaseDurationSeconds); d > 0 {
		record.LeaseDurationSeconds = &d
	}
	return heartbeat.Judge(record, now)
}

func (p *Pulse) silent(reason string, long float64) {
	p.NoHeartbeatSeconds += long
	if long > 0 && !slices.Contains(p.Reasons, reason) {
		p.Reasons = append(p.Reasons, reason)
	}
}

func round(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
