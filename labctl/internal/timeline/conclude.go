package timeline

import (
	"slices"

	"academy.example/lab/operator/api"
)

// VoidNoHolder is what a trial says in which nobody was seen to take the Lease, though nothing else disturbed it.
const VoidNoHolder = "no new holder was seen"

// conclude looks for what spoils the trial, names the class and the winner, and subtracts.
func (m *measurer) conclude() {
	m.disturbed()
	if m.takeover == nil {
		m.void(VoidNoHolder)
	}
	if m.out.Void != "" {
		return
	}
	m.out.Class, m.out.Winner = m.class(), m.winner()
	m.successor()
	from, seen := m.instant(T4)
	if m.out.Class != Released {
		from, seen = m.instant(T3)
	}
	if seen {
		gap := round(m.takeoverT - m.t0 - from)
		m.out.LockGapSeconds = &gap
	}
	if t7, ok := m.instant(T7); ok {
		m.out.GapSeconds = &t7
	}
	m.out.OverlapSeconds = m.overlap()
	m.out.OverlapGoesOn = m.out.OverlapSeconds != nil && *m.out.OverlapSeconds > 0 && m.worksStill()
	m.out.LateWrites, m.out.RefusedWrites = m.tooLate()
	m.out.Terms = m.terms()
	m.out.WorkedOnSeconds = m.workedOn()
	m.out.Upgrade = m.upgrade()
}

// disturbed voids a trial in which something else than the fault may have decided.
func (m *measurer) disturbed() {
	switch {
	case m.before == nil:
		m.void("there was no Lease before the fault")
	case m.podOf(m.before.Holder) != m.fault.Pod:
		m.void("the holder had changed before the fault: it was %q, the fault was meant for %s", m.before.Holder, m.fault.Pod)
	case m.doomed:
		m.void("the holder's pod was on its way out before the fault")
	case m.refused:
		m.void("the leader's writes were refused before the fault; its log says what clears that")
	case !m.accepted:
		m.void("the command was not accepted")
	case m.late != nil:
		m.void("the Lease was written in the old holder's name after its process was gone")
	case m.takeover != nil && m.takeover.LeaseDurationSeconds != m.before.LeaseDurationSeconds && !m.elects(): // the API server names holders for 5 s
		m.void("leaseDurationSeconds changed from %d to %d during the trial", m.before.LeaseDurationSeconds, m.takeover.LeaseDurationSeconds)
	}
	if t1, ok := m.instant(T1); ok && t1 > max(lateSeconds, m.fault.AcceptWithinSeconds) {
		m.void("the command took %.2f s to be accepted: the API server or the node stood still", t1)
	}
	for _, hole := range m.holes {
		if begin := hole.Seconds - hole.HoleSeconds; (m.takeover == nil || begin <= m.takeoverT) && !m.byOutage(hole) {
			m.void("events may be missing or late before the new holder was seen: %s", hole.Note)
		}
	}
	if lag := m.seen[T5].lag; lag != nil && *lag > lateSeconds {
		m.void("the takeover was seen %.2f s after it was written", *lag)
	}
	for i, uid := range m.fault.StandbyUIDs {
		if m.takeover != nil && i < len(m.fault.Standbys) {
			m.stood(uid, m.fault.Standbys[i], m.takeoverT, lateSeconds)
		}
	}
	if m.still != "" {
		m.void("%s", m.still)
	}
}

// successor finds when the new holder led and worked: its own events only.
func (m *measurer) successor() {
	if s, ok := m.leads[m.takeover.Holder]; ok {
		m.seen[T6] = s
	}
	if s, ok := m.works[m.takeover.Holder]; ok && (s.source == SourceWork || !m.unwritten[m.takeover.Holder]) {
		m.seen[T7] = s // a reconcile whose write was refused is no work that anybody feels
	}
}

func (m *measurer) class() Class {
	_, released := m.instant(T4)
	switch {
	case m.theft:
		return Stolen
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

// winner is empty for a holder that is none of the replicas.
func (m *measurer) winner() Winner {
	pod := m.podOf(m.takeover.Holder)
	switch {
	case pod == m.fault.Pod:
		return Same
	case slices.Contains(m.fault.Standbys, pod):
		return Standby
	case m.made[pod]:
		return Replacement
	default:
		return ""
	}
}

// overlap is how long the old leader was seen to work after the new one began: by its log's times, or by the arrival of its
// writes, whichever is longer. That it was none is known only if its log was read to the end, which its container's is.
func (m *measurer) overlap() *float64 {
	longest := 0.0
	if begun, ok := m.workLogs[m.takeover.Holder]; ok {
		var instants []float64
		for _, at := range m.oldLogs {
			instants = append(instants, at-begun)
		}
		longest = acting(instants)
	}
	if begun, ok := m.works[m.takeover.Holder]; ok && m.takeover.Holder != m.before.Holder {
		var instants []float64
		for _, at := range m.oldWrites {
			instants = append(instants, at-begun.at)
		}
		longest = max(longest, acting(instants))
	}
	if m.takeover.Holder == m.before.Holder && !m.restarted && m.leaseGone {
		return new(float64) // one process, which leads on
	}
	longest = round(longest)
	begun, works := m.workLogs[m.takeover.Holder]
	if longest == 0 && (!works || !m.heard(begun) || m.oldLogHole) {
		return nil
	}
	return &longest
}

// worksStill reports whether the old leader worked to the end of what was seen, so that its overlap is only what was looked at.
func (m *measurer) worksStill() bool {
	last := m.events[len(m.events)-1].Seconds
	for _, instants := range [][]float64{m.oldLogs, m.oldWrites} {
		if n := len(instants); n > 0 && last-instants[n-1] < workPause {
			return true
		}
	}
	return false
}

// tooLate counts what the old leader wrote, and tried to write, after the new one's first work.
func (m *measurer) tooLate() (written, refused int) {
	begun, works := m.works[m.takeover.Holder]
	if !works || m.takeover.Holder == m.before.Holder {
		return 0, 0
	}
	after := func(instants []float64) (n int) {
		for _, at := range instants {
			if at > begun.at {
				n++
			}
		}
		return n
	}
	return after(m.oldWrites), after(m.oldRefused)
}

// workPause is the longest pause between two ticks of a leader that works without a break, in seconds: several ticks, since a
// busy machine loses some.
const workPause = 0.5

// acting is how long a leader worked after the instant 0, from the instants of its work in order: a pause, as of a process
// that was stopped, is not counted. Work that is seen only once counts as one tick.
func acting(instants []float64) float64 {
	sum, seen := 0.0, false
	for i, at := range instants {
		if at <= 0 {
			continue
		}
		seen = true
		if i > 0 && at-instants[i-1] <= workPause {
			sum += at - max(0, instants[i-1])
		}
	}
	if seen {
		return max(sum, api.WorkTick.Seconds())
	}
	return 0
}
