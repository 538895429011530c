package timeline

import (
	"fmt"
	"slices"
)

// asked learns from a request that a standby polls, and that one was refused.
func (m *measurer) asked(e Event) {
	switch r := e.Request; {
	case r == nil:
	case r.Code == 401 && len(m.out.Errors) < mostErrors:
		m.out.Errors = append(m.out.Errors, fmt.Sprintf("%s of the Lease refused with 401 Unauthorized: the token of a pod that is gone is not valid any more", r.Verb))
	case r.Code == 403 && len(m.out.Errors) < mostErrors:
		m.out.Errors = append(m.out.Errors, fmt.Sprintf("%s: %s of the Lease refused with 403 Forbidden", r.Pod, r.Verb))
	case r.Code == 422 && len(m.out.Errors) < mostErrors:
		m.out.Errors = append(m.out.Errors, fmt.Sprintf("%s: %s of the Lease refused with 422: an admission policy does not allow it", r.Pod, r.Verb))
	case r.Verb == "get" && m.fault.SharedClock:
		m.poll(r.UID, r.Pod, e.when(r.Received), requestSlack)
	}
}

// poll notices a standby that did not poll for longer than client-go ever waits: it stood still. A poll is known by the
// moment the server received it, or by the arrival of its log line, which may be late by slack.
func (m *measurer) poll(uid, pod string, at, slack float64) {
	if m.takeover == nil && slices.Contains(m.fault.StandbyUIDs, uid) {
		m.stood(uid, pod, at, slack)
		m.polled[uid] = at
	}
}

// stood compares a standby's pause until now with the longest that the protocol knows. What it finds is the reason of last
// resort: a standby also waits for a server that stands still.
func (m *measurer) stood(uid, pod string, now, slack float64) {
	last, known := m.polled[uid]
	longest := longestPause * m.fault.RetryPeriodSeconds
	if known && m.fault.RetryPeriodSeconds > 0 && m.fault.Kind != Rollout && m.fault.Kind != Outage && now-last > longest+slack && m.still == "" {
		m.still = fmt.Sprintf("standby %s did not poll for %.1f s, longer than RetryPeriod allows (%.1f s): it stood still", pod, now-last, longest)
	}
}
