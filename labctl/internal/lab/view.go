package lab

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// view is what the events so far say of the present: the record, reduced.
type view struct {
	mu      sync.Mutex
	events  []timeline.Event
	lease   *timeline.Lease
	renew   float64 // arrival of the last write of the Lease, in run seconds
	pods    map[string]timeline.Pod
	polls   map[string]polls   // by pod UID, of its present process
	ready   map[string]float64 // by pod UID, since when, in run seconds
	refused map[string]float64 // by pod UID, since when its writes have been refused, in run seconds
	hears   hears
	// changed is closed and replaced with each event that may end a wait.
	changed chan struct{}
}

// polls is how often and when a candidate has logged an attempt to acquire.
type polls struct {
	n    int
	last float64 // arrival, in run seconds
}

// hears says how a standby's polls are known.
type hears int

const (
	byLogs     hears = iota // each attempt is a line of its log
	byRequests              // the API server logs each request
	byTime                  // not at all: a standby that is ready for long enough must have polled
)

func newView(h hears) *view {
	return &view{hears: h, pods: map[string]timeline.Pod{}, polls: map[string]polls{}, ready: map[string]float64{}, refused: map[string]float64{}, changed: make(chan struct{})}
}

// on takes the next event.
func (v *view) on(e timeline.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Kind == timeline.FaultIssued {
		v.forget()
	}
	v.events = append(v.events, e)
	switch e.Kind {
	case timeline.LeaseSeen:
		v.lease, v.renew = e.Lease, e.Seconds
	case timeline.LeaseGone:
		v.lease = nil
	case timeline.PodSeen:
		if old, known := v.pods[e.Pod.UID]; known && old.Restarts != e.Pod.Restarts {
			delete(v.polls, e.Pod.UID)
		}
		v.pods[e.Pod.UID] = *e.Pod
		if _, was := v.ready[e.Pod.UID]; !e.Pod.Ready {
			delete(v.ready, e.Pod.UID)
		} else if !was {
			v.ready[e.Pod.UID] = e.Seconds
		}
	case timeline.PodGone:
		for _, of := range []map[string]float64{v.ready, v.refused} {
			delete(of, e.Pod.UID)
		}
		delete(v.pods, e.Pod.UID)
		delete(v.polls, e.Pod.UID)
	case timeline.LogLine:
		switch e.Log.Message {
		case api.MessageStarted:
			delete(v.polls, e.Log.UID)
		case api.MessageWriteRefused:
			if _, known := v.refused[e.Log.UID]; !known {
				v.refused[e.Log.UID] = e.Seconds
			}
		case api.MessageAttempt:
			v.polled(byLogs, e.Log.UID, e.Seconds)
		}
	case timeline.WorkSeen:
		for uid, p := range v.pods {
			if p.Holds(e.Work.Holder) {
				delete(v.refused, uid) // it writes again
			}
		}
	case timeline.ProcessUp:
		delete(v.polls, e.Process.UID)
	case timeline.LeaseRequest:
		if e.Request.Verb == "get" {
			v.polled(byRequests, e.Request.UID, e.Seconds)
		}
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// forget drops what the trials before this one were measured from; see timeline.Cut. A run of hours must not keep all of it in memory:
// the record has it.
func (v *view) forget() {
	for i := len(v.events) - 1; i >= 0; i-- {
		if v.events[i].Kind == timeline.TrialEnded {
			v.events = slices.Clone(v.events[i+1:]) // who reads the old slice keeps it
			return
		}
	}
}

// fencedAfter is how long writes must have been refused without one that was not.
const fencedAfter = 1.0

// fencedWait is what is waited for while the leader's writes are refused; it does not end by itself.
const fencedWait = "for a leader whose writes are accepted"

// fenced returns fencedWait if the holder's writes are refused, else "".
func (v *view) fenced(holder timeline.Pod, now float64) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if since, refused := v.refused[holder.UID]; refused && now-since > fencedAfter {
		return fencedWait
	}
	return ""
}

// polled counts a poll that was learnt of in the way that this view trusts.
func (v *view) polled(h hears, uid string, at float64) {
	if h == v.hears {
		v.polls[uid] = polls{n: v.polls[uid].n + 1, last: at}
	}
}

// warm reports whether a standby has polled often and lately enough to know the present record.
func (v *view) warm(uid string, timing api.Timing, now float64) bool {
	if v.hears == byTime {
		since, ready := v.ready[uid]
		return ready && now-since > (warmPolls*pollPause(timing)).Seconds()+lateSeconds
	}
	polled := v.polls[uid]
	return polled.n >= warmPolls && now-polled.last <= pollPause(timing).Seconds()+lateSeconds
}

// next returns a channel that is closed with the next event.
func (v *view) next() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// measure derives a trial from the events so far.
func (v *view) measure(trial int) timeline.Trial {
	return timeline.Measure(timeline.Cut(v.all(), trial), trial)
}

// all returns the events since the trial before this one. They are only appended to, so the slice that is read here stays as it is.
func (v *view) all() []timeline.Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.events
}

// scene is the cast of a trial: who holds, who stands by.
type scene struct {
	holder   timeline.Pod
	standbys []timeline.Pod
}

// same reports whether the cast is that of another scene.
func (s scene) same(other scene) bool {
	uids := func(of scene) []string {
		out := []string{}
		for _, p := range of.standbys {
			out = append(out, p.UID)
		}
		slices.Sort(out)
		return append(out, of.holder.UID)
	}
	return slices.Equal(uids(s), uids(other))
}

// settled returns the scene if a trial may begin: the wanted replicas are ready, one of them holds the Lease with the
// configured LeaseDuration and renews it, and each other one has polled often and lately enough to be a warm standby.
// Otherwise it returns what is missing.
func (v *view) settled(replicas int, timing api.Timing, now float64) (scene, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var s scene
	if len(v.pods) != replicas {
		return s, fmt.Sprintf("for %d replicas (there are %d)", replicas, len(v.pods))
	}
	if v.lease == nil || v.lease.Holder == "" || now-v.renew > (2*timing.RetryPeriod).Seconds() {
		return s, "for a holder that renews"
	}
	if v.lease.LeaseDurationSeconds != int(timing.LeaseDuration.Seconds()) {
		return s, fmt.Sprintf("for a Lease of %s", timing.LeaseDuration)
	}
	for _, p := range v.pods {
		switch {
		case !p.Ready || p.Terminating:
			return s, "for pod " + p.Name + " to be ready"
		case p.Holds(v.lease.Holder):
			s.holder = p
		case !v.warm(p.UID, timing, now):
			return s, "for standby " + p.Name + " to poll twice"
		default:
			s.standbys = append(s.standbys, p)
		}
	}
	if s.holder.UID == "" {
		return s, "for the holder to be one of the replicas"
	}
	return s, ""
}

// replaced reports whether a rollout has ended: none of the scene's replicas is left, the wanted number of others is ready, and
// one of those holds the Lease.
func (v *view) replaced(s scene, replicas int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := map[string]bool{s.holder.UID: true}
	for _, p := range s.standbys {
		old[p.UID] = true
	}
	held := false
	for _, p := range v.pods {
		if old[p.UID] || !p.Ready || p.Terminating {
			return false
		}
		held = held || v.lease != nil && p.Holds(v.lease.Holder)
	}
	return held && len(v.pods) == replicas
}

// pollPause is the longest pause between two polls of a standby: client-go's jitter makes it up to 2.2 RetryPeriods.
func pollPause(t api.Timing) time.Duration {
	return time.Duration(gap.LongestPause * float64(t.RetryPeriod))
}

// lateSeconds is how late the log line of a poll may arrive on a busy machine.
const lateSeconds = 1.0

// warmPolls is how many attempts make a standby warm: after the second its observation is not older than a poll pause.
const warmPolls = 2

// restarted returns a pod whose container was restarted, if all others are well: back-off would decide who wins, so such
// pods are replaced before a trial, one at a time.
func (v *view) restarted(replicas int) (timeline.Pod, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found timeline.Pod
	for _, p := range v.pods {
		if p.Terminating || !p.Ready {
			return timeline.Pod{}, false
		}
		if p.Restarts > 0 {
			found = p
		}
	}
	return found, found.UID != "" && len(v.pods) == replicas
}

// living returns the pods that are there.
func (v *view) living() []timeline.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.pods))
}
