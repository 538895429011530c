// Package sim runs the real elections of this repository, plain and guarded, in virtual time: client-go's elector and lock, a
// Lease in memory that refuses what the API server refuses, and between each candidate and the Lease a network that can be
// cut, slowed and refused. A minute of election takes a fraction of a millisecond, so a question such as "how often do two
// lead?" is answered by thousands of trials.
//
// What is simulated is the world, not the election: no line of client-go or of operator/lease/election knows of it.
package sim

import (
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Scenario is what one trial plays: a leader, standbys, and something that happens to the leader.
type Scenario struct {
	Timing          api.Timing `json:"timing"`
	Election        string     `json:"election"` // api.ElectionPlain or api.ElectionGuarded
	Guards          api.Guards `json:"guards"`   // of the guarded election; Fence is asked for the plain one too
	ReleaseOnCancel bool       `json:"releaseOnCancel"`
	// ClientTimeout bounds each request of the plain election, as a client made with a time-out does; 0: none.
	ClientTimeout time.Duration `json:"clientTimeout"`
	Standbys      int           `json:"standbys"`
	// Replacement is when a newcomer starts, after the fault; 0: none does.
	Replacement time.Duration `json:"replacement"`
	// Latency of a request, there and back.
	Latency time.Duration `json:"latency"`
	Fault   Fault         `json:"fault"`
}

// Kind is what happens to the leader.
type Kind string

// The kinds of faults.
const (
	Stop   Kind = "stop"   // it is asked to stop
	Kill   Kind = "kill"   // it is gone, and releases nothing
	Cut    Kind = "cut"    // its network: see Fault
	Freeze Kind = "freeze" // it stands still with all its timers, and goes on after For
	Steal  Kind = "steal"  // another holder is written into the Lease
	Delete Kind = "delete" // the Lease is removed
	Drift  Kind = "drift"  // its clock runs at Rate from the start, and its network is cut
)

// Fault is one Kind with its particulars. The zero value of a field is the plainest case.
type Fault struct {
	Kind Kind `json:"kind"`
	// Way is which packets of a Cut are dropped: both if empty.
	Way Way `json:"way"`
	// Refuse makes a Cut answer each request with an error at once.
	Refuse bool `json:"refuse"`
	// Late makes the answers this late from a moment before the Cut on: a network that gets slow and then breaks.
	Late time.Duration `json:"late"`
	// For is how long a Freeze or a Cut lasts; 0: a Cut for ever.
	For time.Duration `json:"for"`
	// Rate is the leader's clock over the others'; below 1 it is slow. For Drift.
	Rate float64 `json:"rate"`
}

// Way is a direction of packets, as seen from the candidate.
type Way string

// The ways that can be cut.
const (
	BothWays  Way = ""
	Requests  Way = "requests"  // nothing reaches the Lease
	Responses Way = "responses" // renewals are committed, and the candidate never hears of it
)

// Result is what one trial showed. Durations are virtual and exact; without a takeover TookOver is false and Gap 0.
type Result struct {
	// Gap is from the fault until another candidate began to work.
	Gap      time.Duration `json:"gap"`
	TookOver bool          `json:"tookOver"`
	// Worked is how long the leader worked on after its last committed renewal.
	Worked time.Duration `json:"worked"`
	// Margin is from the leader's last work to the successor's first; below 0 if both worked.
	Margin time.Duration `json:"margin"`
	// Overlap is how long two candidates worked at the same time.
	Overlap time.Duration `json:"overlap"`
	// Refused and Stale count the writes of the old leader after its successor had begun: those that the fence stopped, and
	// those that went through.
	Refused int `json:"refused"`
	Stale   int `json:"stale"`
	// Wiped is whether a candidate cleared the holder of another.
	Wiped bool `json:"wiped"`
	// Transitions of the Lease at the end.
	Transitions int `json:"transitions"`
	// LockGap is from the fault, or from the release if Released, until the Lease had another holder.
	LockGap  time.Duration `json:"lockGap"`
	Released bool          `json:"released"`
	// Events are the trial as a run's timeline, if it was recorded.
	Events []timeline.Event `json:"events,omitempty"`
}
