package timeline

import (
	"cmp"
	"math"
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
	m.requests = append(m.requests, request{r, e.when(r.Received), e.when(r.Answered)})
}

// terms is nil where the requests do not tell: no audit log.
func (m *measurer) terms() *Terms {
	if m.out.LockGapSeconds == nil || len(m.requests) == 0 || m.fault.Kind == Outage || m.elects() { // nobody polls to take a Lease that others give
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

// polls are the successor's polls that the API server answered.
func (m *measurer) polls() (all []request) {
	winner := m.podOf(m.takeover.Holder)
	for _, r := range m.requests {
		if r.Pod == winner && r.Verb == "get" && r.Code == 200 {
			all = append(all, r)
		}
	}
	return all
}

// pollSince is the successor's first poll that the server received at or after the moment.
func (m *measurer) pollSince(at float64) (request, bool) {
	for _, r := range m.polls() {
		if r.received >= at {
			return r, true
		}
	}
	return request{}, false
}

// crossing are the successor's polls that may be the first to see a write: those that were under way together with it, and
// the first after it. Which of them saw the write the log does not say, but they are a poll pause apart, so only one goes
// with what followed: the one that leaves less to explain.
func (m *measurer) crossing(write request) (may []request) {
	for _, r := range m.polls() {
		if r.answered < write.received {
			continue
		}
		may = append(may, r)
		if r.received >= write.answered {
			break
		}
	}
	return may
}

// deciding are the successor's polls that may be the first after its wait: the first one received, and the next if that one
// came within onTheWay, since client-go reads its clock before it sends the request. A request that follows closely is the
// takeover's own.
func (m *measurer) deciding(free float64) []request {
	const onTheWay, apart = 0.1, 0.5
	first, ok := m.pollSince(free)
	if !ok {
		return nil
	}
	if next, more := m.pollSince(first.received + apart); more && first.received < free+onTheWay {
		return []request{first, next}
	}
	return []request{first}
}

// least keeps the terms that leave less to explain.
func least(a, b *Terms) *Terms {
	if a == nil || b != nil && math.Abs(b.ResidualSeconds) < math.Abs(a.ResidualSeconds) {
		return b
	}
	return a
}

func (m *measurer) releasedTerms(release request) (best *Terms) {
	for _, poll := range m.crossing(release) {
		phase := max(0, poll.received-release.answered)
		best = least(best, &Terms{PollPhaseSeconds: round(phase), ResidualSeconds: round(*m.out.LockGapSeconds - phase)})
	}
	return best
}

func (m *measurer) expiredTerms(renewal request) (best *Terms) {
	gone, seen := m.instant(T3)
	if !seen {
		return nil
	}
	duration := float64(m.before.LeaseDurationSeconds)
	for _, first := range m.crossing(renewal) {
		free := first.answered + duration
		for _, poll := range m.deciding(free) {
			age, observed, phase := round(m.t0+gone-renewal.answered), round(first.answered-renewal.answered), round(poll.received-free)
			best = least(best, &Terms{AgeSeconds: &age, ObservationSeconds: &observed, LeaseDurationSeconds: &duration, PollPhaseSeconds: phase,
				ResidualSeconds: round(*m.out.LockGapSeconds - (-age + observed + duration + phase))})
		}
	}
	return best
}
