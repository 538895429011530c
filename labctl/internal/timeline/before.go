package timeline

import (
	"slices"

	"academy.example/lab/operator/api"
)

// findBefore reads the state just before the fault: the holder, its last renewal and how late renewals arrive.
func (m *measurer) findBefore() {
	for _, e := range m.events[:m.start] {
		m.named(e.Pod)
		switch {
		case e.Kind == LeaseSeen && e.Lease != nil:
			m.renewed(e.Lease)
			m.before, m.lastRenew, m.written = e.Lease, e.Seconds, e.Lease.RenewTime
			if !e.Lease.RenewTime.IsZero() {
				m.lags = append(m.lags, e.Wall.Sub(e.Lease.RenewTime).Seconds())
			}
		case e.Kind == LeaseGone:
			m.before = nil
		case e.Kind == WorkSeen && e.Work != nil && m.podOf(e.Work.Holder) == m.fault.Pod:
			m.refused = false // it writes again
		case e.Kind == Deployed && e.Deploy != nil:
			m.deploy = e.Deploy
		case e.Kind == LeaseRequest:
			m.request(e)
			if e.Request != nil && m.fault.SharedClock {
				m.polled[e.Request.UID] = e.when(e.Request.Received)
			}
		case e.Kind == LogLine && e.Log != nil && e.Log.Message == api.MessageAttempt && len(m.requests) == 0:
			m.polled[e.Log.UID] = e.Seconds
		case e.Kind == PodSeen && e.Pod != nil && e.Pod.UID == m.fault.UID:
			m.restarts, m.doomed = e.Pod.Restarts, e.Pod.Terminating
		case e.Kind == PodGone && e.Pod != nil && e.Pod.UID == m.fault.UID:
			m.doomed = true
		case e.Kind == LogLine && e.Log != nil && e.Log.UID == m.fault.UID && e.Log.Message == api.MessageReconcile:
			m.oldLogs, m.oldLogHole = []float64{m.logTime(e)}, false
		case e.Kind == LogHole && e.Log != nil && e.Log.UID == m.fault.UID:
			m.oldLogHole = true
		case e.Kind == LogLine && e.Log != nil && e.Log.UID == m.fault.UID && e.Log.Message == api.MessageWriteRefused:
			m.refused = true
		}
	}
	if m.before != nil {
		m.out.HolderBefore, m.out.TransitionsBefore = m.before.Holder, m.before.Transitions
		m.out.LeaseDurationSeconds, m.out.RenewEverySeconds = m.before.LeaseDurationSeconds, m.renewEvery()
	}
}

// renewed keeps the holder's last renewals, by the times that it wrote itself.
func (m *measurer) renewed(l *Lease) {
	if m.before == nil || m.before.Holder != l.Holder {
		m.renewals = nil
	}
	if l.Holder != "" && !l.RenewTime.IsZero() && l.PreferredHolder == "" { // else it is the API server's write
		m.renewals = append(m.renewals, l.RenewTime)
	}
}

// renewEvery is the median pause between the last renewals; nil if there were too few to tell.
func (m *measurer) renewEvery() *float64 {
	const enough, recent = 4, 12
	if len(m.renewals) < enough {
		return nil
	}
	times := m.renewals[max(0, len(m.renewals)-recent):]
	var pauses []float64
	for i := range times[1:] {
		pauses = append(pauses, times[i+1].Sub(times[i]).Seconds())
	}
	slices.Sort(pauses)
	every := round(pauses[len(pauses)/2])
	return &every
}
