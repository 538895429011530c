package board

import (
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// recent keeps the events that a failover is measured from: all of the last while, and of what was before it the last of
// each kind, so that the state then is known.
type recent struct {
	events []timeline.Event
	next   int // how many events there may be before the old ones are thinned out
}

// keepSeconds is the while that is kept whole; thinEvery is the least number of events between two thinnings.
const keepSeconds, thinEvery = 30.0, 512

// push appends an event. While nothing is being measured, old events are thinned out.
func (r *recent) push(e timeline.Event, idle bool) {
	r.events = append(r.events, e)
	if idle && len(r.events) >= r.next {
		r.thin(e.Seconds - keepSeconds)
		r.next = 2*len(r.events) + thinEvery
	}
}

// thin leaves of the events before a moment only the last of each kind and subject.
func (r *recent) thin(before float64) {
	type key struct {
		kind          timeline.Kind
		subject, what string
	}
	last := map[key]int{}
	keys := make([]key, 0, len(r.events))
	gone := map[string]bool{}
	for i, e := range r.events {
		k := key{kind: e.Kind}
		switch {
		case e.Pod != nil:
			k.subject, k.kind = e.Pod.UID, timeline.PodSeen
			gone[e.Pod.UID] = e.Kind == timeline.PodGone && e.Seconds < before
		case e.Process != nil:
			k.subject, k.kind = e.Process.UID, timeline.ProcessUp
		case e.Log != nil:
			k.subject, k.what = e.Log.UID, e.Log.Message
		case e.Request != nil:
			k.subject, k.what = e.Request.UID, e.Request.Verb
		case e.Work != nil:
			k.subject = e.Work.Holder
		case e.Lease != nil, e.Kind == timeline.LeaseGone:
			k.kind = timeline.LeaseSeen
		}
		keys = append(keys, k)
		last[k] = i
	}
	kept := make([]timeline.Event, 0, len(r.events))
	for i, e := range r.events {
		if e.Seconds >= before || last[keys[i]] == i && !gone[keys[i].subject] && matters(e) {
			kept = append(kept, e)
		}
	}
	r.events = kept
}

// matters reports whether an old event says something of the state before a failover.
func matters(e timeline.Event) bool {
	switch e.Kind {
	case timeline.LeaseSeen, timeline.LeaseGone, timeline.PodSeen, timeline.Deployed, timeline.LeaseRequest, timeline.LogHole:
		return true
	case timeline.LogLine:
		return e.Log.Message == api.MessageAttempt || e.Log.Message == api.MessageReconcile || e.Log.Message == api.MessageWriteRefused
	default:
		return false
	}
}
