package timeline

import (
	"cmp"
	"slices"
)

// Terms takes a lock gap apart, from the requests on the Lease that the API server logged.
// Expired: gap = −age + observation + leaseDuration + pollPhase + residual. Released: gap = pollPhase + residual.
type Terms struct {
	// AgeSeconds is how old the last renewal was when the holder's process was gone.
	AgeSeconds *float64 `json:"ageSeconds"`
	// ObservationSeconds is how long after the last renewal the successor's first poll saw it: only then its wait began.
	ObservationSeconds *float64 `json:"observationSeconds"`
	// LeaseDurationSeconds is what it waited at least.
	LeaseDurationSeconds *float64 `json:"leaseDurationSeconds"`
	// PollPhaseSeconds is from the moment the Lease could be taken to the successor's next poll.
	PollPhaseSeconds float64 `json:"pollPhaseSeconds"`
	// ResidualSeconds is what is left: the takeover's two requests and the arrival of the last event. The poll is the first
	// one after the wait, whoever's request made the successor holder, so a residual of a poll pause or more would mean that
	// the protocol is not what this model says.
	ResidualSeconds float64 `json:"residualSeconds"`
}

// request is a Request on the run's clock.
type request struct {
	Request
	received, answered float64
}

// request keeps a request if its times can be told on the run's clock.
func (m *measurer) request(e Event) {
	if e.Request == nil || !m.fault.SharedClock {
		return
	}
	r := *e.Request
	m.requests = append(m.requests, request{r, e.Seconds - e.Wall.Sub(r.Received).Seconds(), e.Seconds - e.Wall.Sub(r.Answered).Seconds()})
}

// terms is nil where the requests do not tell: no audit log, or two requests that crossed.
func (m *measurer) terms() *Terms {
	if m.out.LockGapSeconds == nil || len(m.requests) == 0 {
		return nil
	}
	slices.SortStableFunc(m.requests, func(a, b request) int { return cmp.Compare(a.received, b.received) })
	last, ok := m.lastWrite()
	if !ok {
		return nil
	}
	switch m.out.Class {
	case Released:
		return m.releasedTerms(last)
	case Expired:
		return m.expiredTerms(last)
	default:
		return nil
	}
}

// lastWrite is the old holder's last successful write: its last renewal, or its release.
func (m *measurer) lastWrite() (last request, ok bool) {
	for _, r := range m.requests {
		if r.UID == m.fault.UID && (r.Verb == "update" || r.Verb == "create") && r.Code < 300 && r.received < m.takeoverT {
			last, ok = r, true
		}
	}
	return last, ok
}

// pollSince is the successor's first poll that the server received at or after the moment.
func (m *measurer) pollSince(at float64) (request, bool) {
	winner := m.podOf(m.takeover.Holder)
	for _, r := range m.requests {
		if r.Pod == winner && r.Verb == "get" && r.Code == 200 && r.received >= at {
			return r, true
		}
	}
	return request{}, false
}

func (m *measurer) releasedTerms(release request) *Terms {
	poll, ok := m.pollSince(release.received)
	if !ok || poll.received < release.answered {
		return nil
	}
	phase := poll.received - release.answered
	return &Terms{PollPhaseSeconds: round(phase), ResidualSeconds: round(*m.out.LockGapSeconds - phase)}
}

func (m *measurer) expiredTerms(renewal request) *Terms {
	first, ok := m.pollSince(renewal.received)
	gone, seen := m.instant(T3)
	if !ok || !seen || first.received < renewal.answered {
		return nil
	}
	duration := float64(m.before.LeaseDurationSeconds)
	free := first.answered + duration
	poll, ok := m.pollSince(free)
	if !ok {
		return nil
	}
	age, observed, phase := round(m.t0+gone-renewal.answered), round(first.answered-renewal.answered), round(poll.received-free)
	return &Terms{AgeSeconds: &age, ObservationSeconds: &observed, LeaseDurationSeconds: &duration, PollPhaseSeconds: phase,
		ResidualSeconds: round(*m.out.LockGapSeconds - (-age + observed + duration + phase))}
}
