package timeline

import (
	"math"
	"slices"
	"strings"
	"time"

	"academy.example/lab/operator/api"
)

// Instants of a trial, in the order in which they normally come.
const (
	T1 = "T1" // the API server accepted the command
	T2 = "T2" // the holder logged the signal
	T3 = "T3" // the holder's process is gone
	T4 = "T4" // the Lease was seen with an empty holder
	T5 = "T5" // the Lease was seen with its next holder
	T6 = "T6" // the next holder logged that it leads
	T7 = "T7" // the next holder's first reconcile
)

// clockSlack is how much earlier than LeaseDuration an expiry may appear: renewTime is compared in whole seconds by the
// candidates, and the arrival of a renewal is late by a few milliseconds.
const clockSlack = 1.1

// Measure derives the given trial from a run's events. A trial without a fault is Unknown.
func Measure(events []Event, trial int) Trial {
	m := measurer{events: events, trial: trial, out: Trial{Class: Unknown, InstantsSeconds: map[string]float64{}}}
	if !m.findFault() {
		m.out.Void = "no fault was issued"
		return m.out
	}
	m.findBefore()
	m.walk()
	m.conclude()
	return m.out
}

type measurer struct {
	events []Event
	trial  int
	out    Trial

	start     int // index of the fault
	t0        float64
	fault     Fault
	before    Lease
	lastRenew float64 // arrival of the last renewal by the holder, in run seconds
	lags      []float64
	restarts  int // of the target's container, before the fault

	restarted bool // the target's process was started again
	leaseGone bool
	takeover  *Lease
	takeoverT float64
	oldWork   time.Time // last work of the old leader, its own clock
	newWork   time.Time // first work of the new one, its own clock
	oldSeen   bool
}

func (m *measurer) findFault() bool {
	for i, e := range m.events {
		if e.Kind == FaultIssued && e.Trial == m.trial && e.Fault != nil {
			m.start, m.t0, m.fault = i, e.Seconds, *e.Fault
			m.out.Mode, m.out.WallT0, m.out.Kubectl = e.Fault.Mode, e.Wall, e.Fault.Kubectl
			m.out.PhaseSeconds, m.out.Standbys = e.Fault.PhaseSeconds, len(e.Fault.Standbys)
			return true
		}
	}
	return false
}

// findBefore reads the state just before the fault: the holder, its last renewal and how late renewals arrive.
func (m *measurer) findBefore() {
	for _, e := range m.events[:m.start] {
		switch {
		case e.Kind == LeaseSeen && e.Lease != nil:
			m.before, m.lastRenew = *e.Lease, e.Seconds
			if !e.Lease.RenewTime.IsZero() {
				m.lags = append(m.lags, e.Wall.Sub(e.Lease.RenewTime).Seconds())
			}
		case e.Kind == LogLine && e.Log != nil && e.Log.UID == m.fault.UID:
			m.oldSeen = true
			m.noteOldWork(e.Log)
		case e.Kind == PodSeen && e.Pod != nil && e.Pod.UID == m.fault.UID:
			m.restarts = e.Pod.Restarts
		}
	}
	m.out.HolderBefore, m.out.TransitionsBefore = m.before.Holder, m.before.Transitions
	m.out.UncertaintySeconds = lagBound(m.lags)
}

// lagBound is the 95th percentile of the last renewals' arrival lag; nil if clocks differ or too few were seen.
func lagBound(lags []float64) *float64 {
	recent := lags[max(1, len(lags)-40):] // the first is the state at list time, not an arrival
	if len(recent) < 2 {
		return nil
	}
	recent = slices.Sorted(slices.Values(recent))
	bound := recent[(len(recent)*95)/100]
	if recent[0] < 0 || bound > 5 {
		return nil // another host's clock
	}
	return &bound
}

func (m *measurer) walk() {
	for _, e := range m.events[m.start+1:] {
		if e.Kind == TrialEnded && e.Trial == m.trial {
			return
		}
		switch e.Kind {
		case FaultAccepted:
			m.set(T1, e)
		case ProcessGone:
			if e.Process != nil && e.Process.UID == m.fault.UID {
				m.set(T3, e)
			}
		case ProcessUp:
			if e.Process != nil && e.Process.UID == m.fault.UID {
				m.restarted = true
			}
		case PodSeen:
			m.restarted = m.restarted || e.Pod != nil && e.Pod.UID == m.fault.UID && e.Pod.Restarts > m.restarts
		case LeaseSeen:
			m.lease(e)
		case LeaseGone:
			m.leaseGone = true
		case WorkSeen:
			m.work(e)
		case LogLine:
			m.log(e)
		case WatchHole:
			if m.takeover == nil {
				m.out.Void = "the watch had a hole before the new holder was seen: " + e.Note
			}
		}
	}
}

// set records the first sighting of an instant.
func (m *measurer) set(name string, e Event) {
	if _, seen := m.out.InstantsSeconds[name]; !seen {
		m.out.InstantsSeconds[name] = round(e.Seconds - m.t0)
	}
}

func (m *measurer) lease(e Event) {
	if e.Lease == nil || m.takeover != nil {
		return
	}
	if e.Lease.Holder == "" {
		m.set(T4, e)
		return
	}
	_, released := m.out.Instant(T4)
	if e.Lease.Holder == m.before.Holder && !released && !m.restarted && !m.leaseGone {
		m.lastRenew = e.Seconds
		return
	}
	m.set(T5, e)
	lease := *e.Lease
	m.takeover, m.takeoverT = &lease, e.Seconds
	m.out.HolderAfter, m.out.TransitionsAfter = &lease.Holder, &lease.Transitions
}

func (m *measurer) work(e Event) {
	if e.Work == nil || m.takeover == nil || e.Work.Holder != m.takeover.Holder {
		return
	}
	m.set(T7, e)
}

func (m *measurer) log(e Event) {
	l := e.Log
	if l == nil {
		return
	}
	if l.Level == "ERROR" || l.Level == "WARN" {
		m.out.Errors = append(m.out.Errors, l.Pod+": "+l.Raw)
	}
	old := l.UID == m.fault.UID && !m.restarted
	if old {
		m.oldSeen = true
		m.noteOldWork(l)
		if l.Message == api.MessageSignal {
			m.set(T2, e)
		}
		return
	}
	if l.UID != m.fault.UID && !slices.Contains(m.fault.Standbys, l.Pod) && m.out.ReplacementStartSeconds == nil && l.Message == api.MessageStarted {
		after := round(e.Seconds - m.t0)
		m.out.ReplacementStartSeconds = &after
	}
	switch l.Message {
	case api.MessageStartedLead:
		m.set(T6, e)
	case api.MessageReconcile:
		if m.newWork.IsZero() {
			m.newWork = l.Time
		}
		m.set(T7, e)
	}
}

func (m *measurer) noteOldWork(l *Log) {
	if l.Message == api.MessageReconcile && l.Time.After(m.oldWork) {
		m.oldWork = l.Time
	}
}

// conclude names the class and the winner, and subtracts.
func (m *measurer) conclude() {
	if m.takeover == nil {
		if m.out.Void == "" {
			m.out.Void = "no new holder was seen"
		}
		return
	}
	m.out.Class, m.out.Winner = m.class(), m.winner()
	from, seen := m.out.Instant(T4)
	if m.out.Class != Released {
		from, seen = m.out.Instant(T3)
	}
	if t5, ok := m.out.Instant(T5); ok && seen {
		gap := round(t5 - from)
		m.out.LockGapSeconds = &gap
	}
	if t7, ok := m.out.Instant(T7); ok {
		m.out.GapSeconds = &t7
	}
	if m.oldSeen && !m.newWork.IsZero() && !m.oldWork.IsZero() {
		overlap := round(math.Max(0, m.oldWork.Sub(m.newWork).Seconds()))
		m.out.OverlapSeconds = &overlap
	}
	if m.out.Void != "" {
		m.out.Class = Unknown
	}
}

func (m *measurer) class() Class {
	_, released := m.out.Instant(T4)
	switch {
	case m.leaseGone:
		return Deleted
	case released:
		return Released
	case m.takeover.Holder == m.before.Holder:
		return SameIdentity
	case m.takeoverT-m.lastRenew >= float64(m.before.LeaseDurationSeconds)-clockSlack:
		return Expired
	default:
		return Stolen
	}
}

func (m *measurer) winner() Winner {
	switch {
	case m.takeover.Holder == m.before.Holder:
		return Same
	case slices.Contains(m.fault.Standbys, PodOf(m.takeover.Holder)):
		return Standby
	default:
		return Replacement
	}
}

// PodOf returns the pod's name in an identity: client-go's and controller-runtime's convention is name_uuid.
func PodOf(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}

// round keeps microseconds, so that the record does not pretend to more.
func round(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
