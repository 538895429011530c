// Package timeline owns the record of a run: what was observed, when, by one clock.
// Everything that judges or draws a run reads only this record; nothing here touches a cluster, a clock or a network.
package timeline

import "time"

// Kind says what an Event reports.
type Kind string

// The kinds of events a run consists of.
const (
	RunStarted    Kind = "run-started"    // Note: what is run
	FaultIssued   Kind = "fault-issued"   // T0: the command is about to be sent; Fault says which
	FaultAccepted Kind = "fault-accepted" // T1: the API server, or the node, answered
	ProcessUp     Kind = "process-started"
	ProcessGone   Kind = "process-exited" // T3: the process was reaped
	LeaseSeen     Kind = "lease"          // one write of the Lease, as a watch delivered it
	LeaseGone     Kind = "lease-deleted"
	PodSeen       Kind = "pod"
	PodGone       Kind = "pod-deleted"
	WorkSeen      Kind = "work"          // a leader's write on a work object
	LeaseRequest  Kind = "lease-request" // one finished request on the Lease, from the API server's audit log
	Deployed      Kind = "deployment"    // what the Deployment of the replicas asks for
	LogLine       Kind = "log"           // one line of a replica's log
	LogHole       Kind = "log-hole"      // lines of this replica's log may be missing
	LogEnded      Kind = "log-ended"     // this replica's log was read to its end
	WatchHole     Kind = "watch-hole"    // events may be missing or late; Note says of what, HoleSeconds since when
	ServerAway    Kind = "server-away"   // the API server has not answered for a second, told again with each attempt; Note says what came instead
	ServerBack    Kind = "server-back"   // it answers again; Note says after how long
	FaultEnded    Kind = "fault-ended"   // what was done is being undone, or ends by itself; Note says what
	TrialEnded    Kind = "trial-ended"
	RunEnded      Kind = "run-ended" // Note: why before all trials were done; empty for a whole run
)

// Event is one observation. Exactly the part that belongs to its Kind is set.
type Event struct {
	// Seconds is when the event reached the observer, in seconds since the run began, on the observer's monotonic clock.
	// Gaps are computed from it alone.
	Seconds float64 `json:"t"`
	// Wall is the observer's wall clock at that moment. It is for people, and to bound how late an arrival was.
	Wall time.Time `json:"wall"`
	Kind Kind      `json:"kind"`
	// Trial numbers the trial the event falls in, from 1; 0 is outside of any trial.
	Trial int `json:"trial,omitempty"`
	// Lane numbers the set of replicas the event is of, from 1, in a run with several of them; else 0.
	Lane int `json:"lane,omitempty"`

	Lease   *Lease   `json:"lease,omitempty"`
	Pod     *Pod     `json:"pod,omitempty"`
	Process *Process `json:"process,omitempty"`
	Work    *Work    `json:"work,omitempty"`
	Log     *Log     `json:"log,omitempty"`
	Request *Request `json:"request,omitempty"`
	Deploy  *Deploy  `json:"deployment,omitempty"`
	Fault   *Fault   `json:"fault,omitempty"`
	Retry   *Retry   `json:"retry,omitempty"`
	Note    string   `json:"note,omitempty"`
	// HoleSeconds is how long before this event a hole began; 0 if it is not known.
	HoleSeconds float64 `json:"holeSeconds,omitempty"`
}

// when puts a moment that the source wrote down by the observer's wall clock on the run's clock.
func (e Event) when(written time.Time) float64 { return e.Seconds - e.Wall.Sub(written).Seconds() }

// Lease is the content of a Lease object. The times in it were written by the holder's clock.
type Lease struct {
	Holder               string    `json:"holderIdentity"`
	LeaseDurationSeconds int       `json:"leaseDurationSeconds"`
	AcquireTime          time.Time `json:"acquireTime,omitzero"`
	RenewTime            time.Time `json:"renewTime,omitzero"`
	Transitions          int       `json:"leaseTransitions"`
	ResourceVersion      string    `json:"resourceVersion"`
	// Strategy is how the API server elects the holder; empty where candidates take the Lease themselves, and after a release.
	Strategy string `json:"strategy,omitempty"`
	// PreferredHolder is whom the API server wants in the holder's place, which renews no more then.
	PreferredHolder string `json:"preferredHolder,omitempty"`
}

// Pod is what the API says of a replica.
type Pod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Hostname is what the replica's process sees as its host's name, where that is not the pod's name.
	Hostname    string `json:"hostname,omitempty"`
	Phase       string `json:"phase"`
	Ready       bool   `json:"ready"`
	Terminating bool   `json:"terminating,omitempty"`
	Restarts    int    `json:"restarts"`
}

// Process is what the node says of a replica's process.
type Process struct {
	Pod      string `json:"pod"`
	UID      string `json:"uid"`
	PID      int    `json:"pid"`
	ExitCode int    `json:"exitCode"`
	Restarts int    `json:"restarts"`
	// At is when the node saw it, by its clock.
	At time.Time `json:"at,omitzero"`
}

// Work is a leader's write on a work object, as its annotations tell.
type Work struct {
	Object     string `json:"object"`
	Holder     string `json:"holder"`
	Transition int    `json:"transition"`
	Sequence   int64  `json:"sequence"`
	// At is when the leader wrote it, by its clock.
	At time.Time `json:"at,omitzero"`
}

// Request is one finished request on the Lease, as the API server's audit log tells it.
type Request struct {
	Verb string `json:"verb"`
	Code int    `json:"code"` // HTTP status
	Pod  string `json:"pod,omitempty"`
	UID  string `json:"uid,omitempty"`
	// Received and Answered are the API server's clock.
	Received time.Time `json:"received"`
	Answered time.Time `json:"answered"`
}

// Retry is an attempt to reach the API server that failed.
type Retry struct {
	Attempt int `json:"attempt"` // from 1, since the last answer
	// NextSeconds is when the next one begins, from now.
	NextSeconds float64 `json:"nextSeconds"`
}

// Deploy is what the Deployment asks for.
type Deploy struct {
	Generation int64 `json:"generation"` // rises with each change of what is asked for
	Replicas   int   `json:"replicas"`
}

// Log is a line of a replica's log.
type Log struct {
	Pod      string    `json:"pod"`
	UID      string    `json:"uid"`
	Restarts int       `json:"restarts,omitempty"` // of the container: tells the lives of one pod apart
	Time     time.Time `json:"time,omitzero"`      // as the replica wrote it
	Level    string    `json:"level,omitempty"`
	Message  string    `json:"msg"`
	Identity string    `json:"identity,omitempty"`
	// Raw is kept for lines that are warnings or errors, so that a refusal can be explained later.
	Raw string `json:"raw,omitempty"`
}

// FaultKind is what a fault touches beside the holder's own process.
type FaultKind string

// The kinds of faults; the empty one touches nothing else.
const (
	Rollout  FaultKind = "rollout"  // every replica is replaced
	Theft    FaultKind = "theft"    // Thief is written into the Lease, and does not renew: T3 is when that was seen
	Deletion FaultKind = "deletion" // the Lease object is removed: T3 is when that was seen
	Outage   FaultKind = "outage"   // the API server answers nobody until fault-ended, which is T3
	Latency  FaultKind = "latency"  // the API server's answers reach the holder late: what it wrote meanwhile counts
)

// Fault is what was done, to whom, and what was known just before.
type Fault struct {
	Mode    string `json:"mode"`
	Pod     string `json:"pod"`
	UID     string `json:"uid"`
	Kubectl string `json:"kubectl,omitempty"`
	// Standbys are the other candidates that were polling when the fault was issued.
	Standbys    []string `json:"standbys"`
	StandbyUIDs []string `json:"standbyUIDs"`
	// PhaseSeconds is the random wait drawn before the fault, in [0, 3·RetryPeriod).
	PhaseSeconds float64 `json:"phaseSeconds"`
	// RetryPeriodSeconds is the operator's, to tell a standby that stands still; 0 if it is not known.
	RetryPeriodSeconds float64 `json:"retryPeriodSeconds,omitempty"`
	// Silences is whether the holder lives on, unheard: then T3 is when that began.
	Silences bool      `json:"silences,omitempty"`
	Kind     FaultKind `json:"kind,omitempty"`
	// From and To are the versions of an upgrade.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Thief is the identity that a theft writes into the Lease.
	Thief string `json:"thief,omitempty"`
	// AcceptWithinSeconds is how long the command may take to be accepted; 0 is a second.
	AcceptWithinSeconds float64 `json:"acceptWithinSeconds,omitempty"`
	// SharedClock is whether the replicas, the node and the API server read the same clock as the observer.
	SharedClock bool `json:"sharedClock"`
	// Foreign is whether the operator is not the lab's: its logs say nothing that is understood.
	Foreign bool `json:"foreign,omitempty"`
}

// Lane returns the events of one lane; those of a run without lanes are lane 0.
func Lane(events []Event, lane int) []Event {
	var out []Event
	for _, e := range events {
		if e.Lane == lane {
			out = append(out, e)
		}
	}
	return out
}
