package timeline

import (
	"fmt"
	"slices"

	"academy.example/lab/operator/api"
)

// Cause is why the Lease came to another holder, or to the same one's next process.
type Cause string

// The causes of hand-overs.
const (
	ByRelease  Cause = "release"  // the holder gave it up
	ByStop     Cause = "stop"     // its process was asked to stop, and ended without a release
	ByCrash    Cause = "crash"    // its process ended by itself, without a release
	BySilence  Cause = "silence"  // its process lived, and did not renew
	BySlowAPI  Cause = "slow-api" // the API server did not answer in time
	BySteal    Cause = "steal"    // somebody wrote the Lease while its record was valid
	ByDeletion Cause = "deletion" // the object was removed
)

// HandOver is one change of the Lease's holder, and what tells its cause.
type HandOver struct {
	AtSeconds float64 `json:"atSeconds"` // after T0
	From      string  `json:"from"`
	To        string  `json:"to"`
	Cause     Cause   `json:"cause"`
	Evidence  string  `json:"evidence"`
}

// hand follows who holds the Lease.
type hand struct {
	m        *measurer
	holder   string  // the last one that was named
	duration float64 // of its record
	renewed  float64 // arrival of its last write
	released float64 // when an empty holder was seen; 0 for never
	deleted  float64 // when the object was seen to be gone
	away     float64 // when the API server last was told to be silent
	refused  int     // status of the holder's last write, if that was refused
	answers  answers // to the holder
	exits    map[string]Event
	asked    map[string]bool // pods that were being deleted, or whose process logged that it was asked to stop, while it ran
	started  map[string]bool // pods whose process was started again
	early    *Event          // a write in the holder's name after its process ended, and before a new one was told of
	stranger bool            // the holder is none of the replicas
	out      []HandOver
}

// handOvers tells all changes of the holder from the fault to the end of the trial; none if labctl, or the machine, stood still
// meanwhile: what an API server did not say then is no evidence.
func handOvers(m measurer) []HandOver {
	if m.before == nil || slices.ContainsFunc(m.holes, ours) {
		return nil
	}
	h := hand{m: &m, holder: m.before.Holder, duration: float64(m.before.LeaseDurationSeconds), renewed: m.lastRenew,
		exits: map[string]Event{}, asked: map[string]bool{}, started: map[string]bool{}}
	h.renewed = lastWriteBefore(m.events[:m.start])
	for _, e := range m.events[m.start+1:] {
		if e.Kind == TrialEnded && e.Trial == m.trial {
			break
		}
		h.on(e)
	}
	return h.out
}

func lastWriteBefore(events []Event) float64 {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == LeaseSeen {
			return events[i].Seconds
		}
	}
	return 0
}

func (h *hand) on(e Event) {
	switch {
	case e.Kind == LeaseGone:
		h.deleted = e.Seconds
	case e.Kind == ServerAway:
		h.away = e.Seconds
	case e.Kind == LeaseRequest && e.Request != nil && e.Request.Pod == h.m.podOf(h.holder):
		if e.Request.Verb == "update" {
			h.refused = e.Request.Code
		}
		h.answers.given(e, h.renewed)
	case e.Kind == LogLine && e.Log != nil && e.Log.Message == api.MessageSignal:
		h.asked[e.Log.Pod] = true
	case e.Kind == PodSeen && e.Pod != nil && e.Pod.Terminating:
		if _, ended := h.exits[e.Pod.Name]; !ended {
			h.asked[e.Pod.Name] = true
		}
	case e.Kind == LogLine && e.Log != nil && e.Log.Pod == h.m.podOf(h.holder):
		h.answers.missed(*e.Log)
	case e.Kind == ProcessGone && e.Process != nil:
		h.exits[e.Process.Pod] = e
	case e.Kind == ProcessUp && e.Process != nil:
		h.started[e.Process.Pod] = true
		delete(h.asked, e.Process.Pod)
		if pod := h.m.podOf(h.holder); h.early != nil && pod == e.Process.Pod {
			h.took(*h.early, pod)
		}
	case e.Kind == LeaseSeen && e.Lease != nil:
		h.lease(e)
	}
}

func (h *hand) lease(e Event) {
	if e.Lease.Holder == "" {
		h.released = e.Seconds
		return
	}
	if h.m.elects() && (e.Lease.PreferredHolder != "" || h.released > 0 && e.Lease.Holder == h.holder && !h.started[h.m.podOf(h.holder)]) {
		return // the API server's: no renewal, and no hand-over
	}
	pod := h.m.podOf(h.holder)
	exit, ended := h.exits[pod]
	again := ended && h.started[pod]
	if ended && !again && e.Seconds > exit.Seconds+answerGrain { // no renewal that was under way
		h.early = &e
	}
	if e.Lease.Holder != h.holder || h.released > 0 || h.deleted > 0 || again {
		h.took(e, pod)
	}
	h.renewed, h.duration = e.Seconds, float64(e.Lease.LeaseDurationSeconds)
}

// took tells one hand-over, and begins to follow the next holder.
func (h *hand) took(e Event, pod string) {
	cause, evidence := h.why(e, pod)
	h.out = append(h.out, HandOver{AtSeconds: round(e.Seconds - h.m.t0), From: h.holder, To: e.Lease.Holder, Cause: cause, Evidence: evidence})
	h.holder, h.released, h.deleted, h.refused, h.answers, h.early = e.Lease.Holder, 0, 0, 0, answers{}, nil
	next := h.m.podOf(h.holder)
	h.stranger = next != h.m.fault.Pod && !slices.Contains(h.m.fault.Standbys, next) && !h.m.made[next]
	delete(h.exits, next)
	delete(h.started, next)
}

// missed is how many RetryPeriods without a renewal mean that the holder lived and could not renew: one that dies has missed
// none.
const missed = 2

func (h *hand) why(e Event, pod string) (Cause, string) {
	exit, ended := h.exits[pod]
	silent := e.Seconds - h.renewed
	after := func(at float64) string { return fmt.Sprintf("%.2f s after the fault", at-h.m.t0) }
	switch {
	case h.deleted > 0:
		return ByDeletion, "the object was gone " + after(h.deleted)
	case h.released > 0:
		return ByRelease, "an empty holder was seen " + after(h.released)
	case h.stranger:
		return BySteal, fmt.Sprintf("%s, which is no replica, did not renew for %.1f s", h.holder, silent)
	case e.Lease.Holder != h.holder && silent < h.duration-clockSlack:
		return BySteal, fmt.Sprintf("the record was valid, renewed %.2f s before, and nobody had released it", silent)
	case h.away > h.renewed:
		return BySlowAPI, fmt.Sprintf("the API server did not answer, and nobody could renew for %.1f s", silent)
	case h.answers.late():
		return BySlowAPI, h.answers.evidence(h.m.t0, silent)
	case h.refused == 422 || h.refused == 403:
		return BySilence, fmt.Sprintf("the holder's writes were refused with %d, and it did not renew for %.1f s", h.refused, silent)
	case ended && h.asked[pod]:
		return ByStop, fmt.Sprintf("the holder was asked to stop and ended %s with exit code %d, and nobody had released", after(exit.Seconds), exit.Process.ExitCode)
	case ended && exit.Seconds-h.renewed > missed*h.m.fault.RetryPeriodSeconds && h.m.fault.RetryPeriodSeconds > 0:
		return BySilence, fmt.Sprintf("the holder did not renew for %.1f s; it gave up by itself and ended %s with exit code %d", silent, after(exit.Seconds), exit.Process.ExitCode)
	case ended:
		return ByCrash, fmt.Sprintf("the holder's process ended %s with exit code %d, and nobody had released", after(exit.Seconds), exit.Process.ExitCode)
	default:
		return BySilence, fmt.Sprintf("the holder's process was not seen to end, and it did not renew for %.1f s", silent)
	}
}
