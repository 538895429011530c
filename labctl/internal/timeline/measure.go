package timeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"academy.example/lab/operator/api"
)

// Instants of a trial, in the order in which they normally come.
const (
	T1 = "T1" // the API server accepted the command
	T2 = "T2" // the holder logged the signal
	T3 = "T3" // the holder's process is gone
	T4 = "T4" // the Lease was seen with an empty holder
	T5 = "T5" // the Lease was seen with its next holder
	T6 = "T6" // the next holder logged that it leads
	T7 = "T7" // the next holder's first reconcile
)

// Instants returns the names of the instants in their order.
func Instants() []string { return []string{T1, T2, T3, T4, T5, T6, T7} }

// clockSlack is how much earlier than LeaseDuration an expiry may appear: renewTime is compared in whole seconds by the
// candidates, and the arrival of a renewal is late by a few milliseconds.
const clockSlack = 1.1

// lateSeconds is how late something may be seen before a trial counts as disturbed: by an API server, a store or a node
// that stood still. Events of a busy machine have been up to 0.3 s late.
const lateSeconds = 1.0

// requestSlack is how much longer than the longest pause two polls may lie apart: the first one's answer, the next one's way.
const requestSlack = 0.25

// clockGrain is how exactly two processes on one machine stamp the same moment, one of them as it is told.
const clockGrain = 0.02

// longestPause is the longest pause between two polls in RetryPeriods: client-go's JitterFactor is 1.2.
const longestPause = 2.2

// mostErrors bounds how many log lines a trial keeps.
const mostErrors = 20

// Measure derives the given trial from a run's events. A trial that was disturbed, or not seen as a whole, is Unknown,
// has a reason in Void, and no figure but its instants.
func Measure(events []Event, trial int) Trial {
	m := measurer{events: events, trial: trial, out: Trial{Class: Unknown, InstantsSeconds: map[string]float64{},
		Sources: map[string]Source{}, LagsSeconds: map[string]float64{}}, seen: map[string]sighting{}, hostnames: map[string]string{},
		leads: map[string]sighting{}, works: map[string]sighting{}, workLogs: map[string]float64{}, made: map[string]bool{}, polled: map[string]float64{}, unwritten: map[string]bool{}}
	if !m.findFault() {
		m.out.Void = "no fault was issued"
		return m.out
	}
	m.findBefore()
	m.walk()
	m.conclude()
	m.tellInstants()
	m.out.HandOvers = handOvers(m)
	return m.out
}

type measurer struct {
	events []Event
	trial  int
	out    Trial

	seen      map[string]sighting // the instants
	start     int                 // index of the fault
	t0        float64
	fault     Fault
	before    *Lease    // the record just before the fault; nil if there was none
	leaseAt   float64   // arrival of the last write of the Lease, by anybody
	lastRenew float64   // arrival of the holder's last write, in run seconds
	written   time.Time // renewTime of the last write
	lags      []float64 // arrival − renewTime of the renewals before the fault
	deploy    *Deploy   // what the Deployment asked for before the fault
	restarts  int       // of the target's container, before the fault
	doomed    bool      // the target was on its way out before the fault
	refused   bool      // the target's writes were refused before the fault

	accepted  bool
	restarted bool // the target's process was started again
	leaseGone bool
	theft     bool    // the thief was seen in the Lease
	back      bool    // an outage has ended
	robbed    float64 // when the Lease was seen stolen or deleted, in run seconds
	takeover  *Lease
	takeoverT float64
	hostnames map[string]string   // hostname → pod, where they differ
	made      map[string]bool     // pods first seen after the fault
	leads     map[string]sighting // identity → its "started leading"
	works     map[string]sighting // identity → its first work
	workLogs  map[string]float64  // identity → when it logged its first reconcile, in run seconds
	polled    map[string]float64  // standby UID → arrival of its last poll
	unwritten map[string]bool     // identities whose writes were refused or failed
	requests  []request
	still     string // why a standby is taken to have stood still
	holes     []Event

	late       *Event      // the first write in the old holder's name after its process was gone
	renewals   []time.Time // of the holder before the fault, as it wrote them
	oldLogs    []float64   // the old leader's reconciles in run seconds: the last before the fault, and those after it
	oldWrites  []float64   // arrivals of the old leader's writes after the fault
	oldRefused []float64   // when it logged that a write of its own was refused, in run seconds
	oldLogEnds bool        // its log was read to the end
	oldAttempt float64     // when it last logged an attempt to acquire, in run seconds: it contends again
	oldLogHole bool
}

func (m *measurer) findFault() bool {
	for i, e := range m.events {
		if e.Kind == FaultIssued && e.Trial == m.trial && e.Fault != nil {
			m.start, m.t0, m.fault = i, e.Seconds, *e.Fault
			m.out.Mode, m.out.WallT0, m.out.Kubectl = e.Fault.Mode, e.Wall, e.Fault.Kubectl
			m.out.PhaseSeconds, m.out.Standbys, m.out.Lane = e.Fault.PhaseSeconds, len(e.Fault.Standbys), e.Lane
			return true
		}
	}
	return false
}

func (m *measurer) walk() {
	for _, e := range m.events[m.start+1:] {
		if e.Kind == TrialEnded && e.Trial == m.trial {
			return
		}
		switch e.Kind {
		case FaultAccepted:
			m.accept(e)
		case FaultEnded:
			m.ended(e)
		case ProcessGone, ProcessUp:
			m.process(e)
		case PodSeen, PodGone:
			m.pod(e)
		case LeaseSeen:
			m.lease(e)
		case LeaseGone:
			m.deleted(e)
		case WorkSeen:
			m.work(e)
		case LogLine, LogHole, LogEnded:
			m.log(e)
		case LeaseRequest:
			m.request(e)
			m.asked(e)
		case Deployed:
			m.deployed(e)
		case WatchHole:
			m.holes = append(m.holes, e)
		}
	}
}

// set records the first sighting of an instant; written is the source's own time, zero if it told none.
func (m *measurer) set(name string, e Event, source Source, written time.Time) {
	first(m.seen, name, m.sight(e, source, written))
}

// instant returns when an instant was seen, in seconds after T0.
func (m *measurer) instant(name string) (float64, bool) {
	s, seen := m.seen[name]
	return round(s.at - m.t0), seen
}

// void gives the trial up; the first reason stays.
func (m *measurer) void(format string, args ...any) {
	if m.out.Void == "" {
		m.out.Void = fmt.Sprintf(format, args...)
	}
}

func (m *measurer) process(e Event) {
	switch {
	case e.Process == nil:
	case e.Process.UID != m.fault.UID:
		m.standbyLost(e.Kind == ProcessGone, e.Process.UID, e.Process.Pod)
	case e.Kind == ProcessGone && m.fault.Kind == Outage: // nobody could take the Lease from it
	case e.Kind == ProcessGone:
		m.set(T3, e, SourceNode, e.Process.At)
	default:
		m.restart()
	}
}

// restart forgets what the target's earlier process did: what follows is another process's.
func (m *measurer) restart() {
	if m.restarted || m.takeover != nil && m.takeover.Holder != m.before.Holder {
		return // what follows a takeover by another one is that one's
	}
	m.restarted = true
	clear(m.leads)
	clear(m.works)
	clear(m.workLogs)
	clear(m.unwritten)
	if m.late != nil && m.takeover == nil {
		e := *m.late
		m.late = nil
		m.takes(e)
	}
}

func (m *measurer) pod(e Event) {
	m.named(e.Pod)
	switch {
	case e.Pod == nil:
	case e.Pod.UID == m.fault.UID:
		if e.Kind == PodSeen && e.Pod.Restarts > m.restarts {
			m.restart()
		}
	case m.fault.Kind == Rollout:
		m.made[e.Pod.Name] = m.made[e.Pod.Name] || !slices.Contains(m.fault.StandbyUIDs, e.Pod.UID)
	case slices.Contains(m.fault.StandbyUIDs, e.Pod.UID):
		m.standbyLost(e.Kind == PodGone || e.Pod.Terminating, e.Pod.UID, e.Pod.Name)
	case m.made[e.Pod.Name] && (e.Kind == PodGone || e.Pod.Terminating) && m.takeover == nil:
		m.void("the replacement %s was taken away before the Lease had a new holder", e.Pod.Name)
	case m.takeover == nil && !m.made[e.Pod.Name]:
		m.made[e.Pod.Name] = true
		if len(m.made) > 1 {
			m.void("more pods than one replacement were made before the Lease had a new holder: a rollout, or another number of replicas")
		}
	default:
		m.made[e.Pod.Name] = true
	}
}

// standbyLost voids a trial whose standby went away before it could take over: somebody else's doing decides then.
func (m *measurer) standbyLost(lost bool, uid, name string) {
	if lost && m.takeover == nil && m.fault.Kind != Rollout && slices.Contains(m.fault.StandbyUIDs, uid) {
		m.void("standby %s went away before the Lease had a new holder", name)
	}
}

// named remembers a pod's hostname where it is another name.
func (m *measurer) named(p *Pod) {
	if p != nil && p.Hostname != "" {
		m.hostnames[p.Hostname] = p.Name
	}
}

// podOf returns the name of the pod that an identity is of.
func (m *measurer) podOf(identity string) string {
	name := PodOf(identity)
	if pod, known := m.hostnames[name]; known {
		return pod
	}
	return name
}

// deployed voids a trial during which somebody asked for something else: a rollout or another number of replicas.
func (m *measurer) deployed(e Event) {
	if e.Deploy == nil || m.fault.Kind == Rollout || m.takeover != nil || m.deploy == nil || e.Deploy.Generation == m.deploy.Generation {
		return
	}
	m.void("the Deployment was changed before the Lease had a new holder (generation %d to %d, replicas %d to %d)",
		m.deploy.Generation, e.Deploy.Generation, m.deploy.Replicas, e.Deploy.Replicas)
}

func (m *measurer) lease(e Event) {
	if e.Lease == nil {
		return
	}
	if e.Seconds < m.leaseAt { // they come on one stream
		m.void("the record has the writes of the Lease out of their order")
	}
	m.leaseAt = e.Seconds
	if m.takeover != nil {
		m.notices(e)
		return
	}
	if m.byServer(e) {
		return
	}
	defer func() { m.written = e.Lease.RenewTime }()
	if m.before != nil && e.Lease.Holder != m.before.Holder {
		m.byNoCandidate(e)
	}
	if e.Lease.Holder == "" {
		m.set(T4, e, SourceLease, e.Lease.RenewTime)
		return
	}
	if m.stolen(e) {
		return
	}
	if m.before != nil && e.Lease.Holder == m.before.Holder && m.renews() {
		m.foreign(e)
		m.lastRenew = e.Seconds
		return
	}
	m.takes(e)
}

// foreign notices that somebody else wrote the Lease in the old holder's name, which voids the trial unless it was the same
// pod's next process, whose start may be told later than its write. A renewal that was under way when
// the process ended carries a renewTime from before its end.
func (m *measurer) foreign(e Event) {
	if e.Lease.LeaseDurationSeconds != m.before.LeaseDurationSeconds && !m.elects() {
		m.void("leaseDurationSeconds was changed to %d during the trial", e.Lease.LeaseDurationSeconds)
	}
	gone, ok := m.seen[T3]
	ok = ok && m.fault.Kind != Latency // its renewals are still written
	late := ok && e.Seconds > gone.at+lateSeconds
	if ok && m.fault.SharedClock && !e.Lease.RenewTime.IsZero() {
		late = late || m.sight(e, SourceLease, e.Lease.RenewTime).own > gone.own+clockGrain
	}
	if late && m.late == nil {
		m.late = &e
	}
}

// byNoCandidate voids a trial in which somebody changed the holder by hand: a candidate that takes or releases the Lease
// writes the present time with it.
func (m *measurer) byNoCandidate(e Event) {
	if !e.Lease.RenewTime.IsZero() && e.Lease.RenewTime.Equal(m.written) {
		m.void("the holder was changed to %q without a new renewTime: by no candidate", e.Lease.Holder)
	}
}

func (m *measurer) work(e Event) {
	if e.Work == nil || m.hung(e) {
		return
	}
	first(m.works, e.Work.Holder, m.sight(e, SourceWork, e.Work.At))
	if m.before != nil && e.Work.Holder == m.before.Holder && !m.restarted {
		m.oldWrites = append(m.oldWrites, e.Seconds)
	}
}

func (m *measurer) log(e Event) {
	l := e.Log
	if l == nil {
		return
	}
	if (l.Level == "ERROR" || l.Level == "WARN") && len(m.out.Errors) < mostErrors {
		m.out.Errors = append(m.out.Errors, l.complaint())
	}
	if l.UID == m.fault.UID && l.Restarts == m.restarts {
		m.oldLine(e)
		return
	}
	if e.Kind != LogLine {
		return
	}
	identity := l.Identity
	if identity == "" {
		identity = l.Pod
	}
	switch l.Message {
	case api.MessageStarted:
		if m.made[l.Pod] && m.out.ReplacementStartSeconds == nil {
			after := round(m.sight(e, SourceLog, l.Time).own - m.t0)
			m.out.ReplacementStartSeconds = &after
		}
	case api.MessageAttempt:
		if len(m.requests) == 0 {
			m.poll(l.UID, l.Pod, e.Seconds, lateSeconds)
		}
	case api.MessageStartedLead:
		first(m.leads, identity, m.sight(e, SourceLog, l.Time))
	case api.MessageWriteRefused, api.MessageWriteFailed:
		m.unwritten[identity] = true
	case api.MessageReconcile:
		first(m.works, identity, m.sight(e, SourceLog, l.Time))
		first(m.workLogs, identity, m.logTime(e))
	}
}

// logTime is when a line was written, on the run's clock, where the replicas' clocks are one, and its arrival where they may
// not be. Two readings of a wall clock are compared that are milliseconds apart, so that one that was set changes nothing; a
// line that was on its way then can't have been written after it arrived.
func (m *measurer) logTime(e Event) float64 { return m.sight(e, SourceLog, e.Log.Time).own }

func (m *measurer) oldLine(e Event) {
	switch {
	case e.Kind == LogHole:
		m.oldLogHole = true
	case e.Kind == LogEnded:
		m.oldLogEnds = true
	case e.Log.Message == api.MessageReconcile:
		m.oldLogs = append(m.oldLogs, m.logTime(e))
	case e.Log.Message == api.MessageWriteRefused, e.Log.Message == api.MessageWriteFailed:
		m.oldRefused = append(m.oldRefused, m.logTime(e))
	case e.Log.Message == api.MessageAttempt:
		m.oldAttempt = m.logTime(e)
	case e.Log.Message == api.MessageSignal:
		m.set(T2, e, SourceLog, e.Log.Time)
	}
}

// first keeps the earliest value of a key; events come in order.
func first[T any](values map[string]T, key string, value T) {
	if _, seen := values[key]; !seen {
		values[key] = value
	}
}

// round keeps microseconds, so that the record does not pretend to more.
func round(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
