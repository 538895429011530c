package timeline

import (
	"strings"
	"time"
)

// What the kinds of faults mean for a measurement.

// accept takes the answer to the command. A holder that is silenced is gone, for the Lease, from then on.
func (m *measurer) accept(e Event) {
	m.accepted = true
	m.set(T1, e, SourceCommand, time.Time{})
	if m.fault.Silences {
		m.set(T3, e, SourceCommand, time.Time{})
	}
}

// ended takes the end of the fault. After an outage somebody can hold the Lease again from then on, and whoever worked
// before it begins anew.
func (m *measurer) ended(e Event) {
	if m.fault.Kind != Outage || m.back {
		return
	}
	m.back = true
	m.set(T3, e, SourceCommand, time.Time{})
	clear(m.leads)
	clear(m.works)
	clear(m.workLogs)
	clear(m.unwritten)
}

// deleted takes the end of the Lease object.
func (m *measurer) deleted(e Event) {
	if m.takeover != nil {
		return
	}
	m.leaseGone = true
	if m.fault.Kind == Deletion {
		m.robbed = e.Seconds
		m.set(T3, e, SourceLease, time.Time{})
	}
}

// stolen reports whether the event is the thief's, who is no holder that anybody waits for.
func (m *measurer) stolen(e Event) bool {
	if m.fault.Thief == "" || e.Lease.Holder != m.fault.Thief {
		return false
	}
	if !m.theft {
		m.theft, m.robbed = true, e.Seconds
		m.set(T3, e, SourceLease, e.Lease.RenewTime)
	}
	return true
}

// renews reports whether a write in the holder's name is a renewal: it never lost the Lease.
func (m *measurer) renews() bool {
	_, released := m.instant(T4)
	return !released && !m.restarted && !m.leaseGone && !m.theft && !m.back
}

// takes is the write of the next holder.
func (m *measurer) takes(e Event) {
	written := e.Lease.RenewTime
	if m.fault.Kind == Outage {
		written = time.Time{} // a candidate reads its clock before its request, which hung
	}
	m.set(T5, e, SourceLease, written)
	lease := *e.Lease
	m.takeover, m.takeoverT = &lease, e.Seconds
	m.out.HolderAfter, m.out.TransitionsAfter = &lease.Holder, &lease.Transitions
	if m.leaseGone && m.before != nil && lease.Holder == m.before.Holder {
		delete(m.works, lease.Holder) // what it did before it made the Lease again
	}
}

// hung reports whether a write was sent before an outage, or in it, and only landed after it: it is no sign of a leader.
func (m *measurer) hung(e Event) bool {
	return m.back && m.fault.SharedClock && !e.Work.At.IsZero() && e.when(e.Work.At) < m.seen[T3].own
}

// ours reports whether a hole is labctl's own, which stood still, or this machine's.
func ours(hole Event) bool {
	return strings.HasPrefix(hole.Note, "this program") || strings.HasPrefix(hole.Note, "the machine")
}

// byOutage reports whether a hole in the record is the fault's own doing: it began before the API server was back.
func (m *measurer) byOutage(hole Event) bool {
	back, ended := m.seen[T3]
	return m.fault.Kind == Outage && !ours(hole) && (!ended || hole.Seconds-hole.HoleSeconds <= back.at)
}

// workedOn is how long the holder worked on after it had lost the Lease, by its own log.
func (m *measurer) workedOn() *float64 {
	if m.robbed == 0 || !m.heard(m.robbed) || m.oldLogHole {
		return nil
	}
	on := 0.0
	for _, at := range m.oldLogs {
		on = max(on, at-m.robbed)
	}
	on = round(on)
	return &on
}
