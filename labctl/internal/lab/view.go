package lab

import (
	"sync"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// view is what the events so far say of the present: the record, reduced.
type view struct {
	mu     sync.Mutex
	events []timeline.Event
	lease  *timeline.Lease
	renew  float64 // arrival of the last write of the Lease, in run seconds
	pods   map[string]timeline.Pod
	polls  map[string]int // attempts to acquire that a pod's present process has logged
	// changed is closed and replaced with each event that may end a wait.
	changed chan struct{}
}

func newView() *view {
	return &view{pods: map[string]timeline.Pod{}, polls: map[string]int{}, changed: make(chan struct{})}
}

// on takes the next event.
func (v *view) on(e timeline.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, e)
	switch e.Kind {
	case timeline.LeaseSeen:
		v.lease, v.renew = e.Lease, e.Seconds
	case timeline.LeaseGone:
		v.lease = nil
	case timeline.PodSeen:
		if old, known := v.pods[e.Pod.UID]; known && old.Restarts != e.Pod.Restarts {
			v.polls[e.Pod.UID] = 0
		}
		v.pods[e.Pod.UID] = *e.Pod
	case timeline.PodGone:
		delete(v.pods, e.Pod.UID)
	case timeline.LogLine:
		switch e.Log.Message {
		case api.MessageStarted:
			v.polls[e.Log.UID] = 0
		case api.MessageAttempt:
			v.polls[e.Log.UID]++
		}
	}
	close(v.changed)
	v.changed = make(chan struct{})
}

// next returns a channel that is closed with the next event.
func (v *view) next() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// measure derives a trial from the events so far.
func (v *view) measure(trial int) timeline.Trial {
	v.mu.Lock()
	events := v.events
	v.mu.Unlock()
	return timeline.Measure(events, trial) // events are only appended to, so the slice read here stays as it is
}

// scene is the cast of a trial: who holds, who stands by.
type scene struct {
	holder   timeline.Pod
	standbys []timeline.Pod
}

// settled returns the scene if a trial may begin: the wanted replicas are ready, one of them holds the Lease, and each
// other one has polled often enough to be a warm standby. Otherwise it returns what is missing.
func (v *view) settled(replicas int, timing api.Timing, now float64) (scene, string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var s scene
	if len(v.pods) != replicas {
		return s, "for the wanted number of replicas"
	}
	if v.lease == nil || v.lease.Holder == "" || now-v.renew > (2*timing.RetryPeriod).Seconds() {
		return s, "for a holder that renews"
	}
	for _, p := range v.pods {
		switch {
		case !p.Ready || p.Terminating:
			return s, "for pod " + p.Name + " to be ready"
		case p.Name == timeline.PodOf(v.lease.Holder):
			s.holder = p
		case v.polls[p.UID] < warmPolls:
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

// warmPolls is how many attempts make a standby warm: after the second its observation is not older than a poll pause.
const warmPolls = 2

// restarted returns a pod whose container was restarted: back-off would decide who wins, so it is replaced before a trial.
func (v *view) restarted() (timeline.Pod, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range v.pods {
		if p.Restarts > 0 && !p.Terminating {
			return p, true
		}
	}
	return timeline.Pod{}, false
}
