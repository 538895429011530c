package gatelab

import (
	"fmt"
	"slices"
	"time"
)

// Change is one change that the API server stored.
type Change struct {
	Version uint64 // its resourceVersion: the order in which everything was stored
	At      time.Time
	Kind    ChangeKind
	Job     string
	Cluster bool // the Job is, or the lease is of, the cluster's operation
}

// ChangeKind is what changed.
type ChangeKind string

// The kinds of changes.
const (
	JobCreated  ChangeKind = "job-created"
	JobFinished ChangeKind = "job-finished"
	LeaseTaken  ChangeKind = "cluster-lease-taken" // in the name of a Job that did not hold it before
)

// Turn is one operation of the cluster.
type Turn struct {
	Job string `json:"job"`
	// InFlight is how many Jobs of machines ran when the cluster took its lease.
	InFlight int `json:"inFlight"`
	// Begun is how many of them began after that and before the cluster's own: those that had read the lease before it was taken.
	Begun int `json:"begunMeanwhile"`
	// WaitedSeconds is from the cluster lease to the Job, and AfterLastSeconds from the end of the last Job of a machine before it.
	WaitedSeconds    float64  `json:"waitedSeconds"`
	AfterLastSeconds *float64 `json:"afterLastSeconds"`
}

// Judgement is what the order of changes shows.
type Judgement struct {
	Operations int      `json:"operations"` // Jobs that began
	Overlaps   []string `json:"overlaps"`   // Jobs that began while one ran that they must not meet
	Turns      []Turn   `json:"turns"`
}

// Judge goes through the changes in the order in which they were stored.

func Judge(changes []Change) Judgement {
	slices.SortStableFunc(changes, func(a, b Change) int {
		switch {
		case a.Version < b.Version:
			return -1
		case a.Version > b.Version:
			return 1
		}
		return 0
	})
	j := Judgement{Overlaps: []string{}, Turns: []Turn{}}
	running := map[string]bool{} // Job → is it the cluster's
	var turn *Turn
	var taken, last time.Time
	for _, c := range changes {
		switch c.Kind {
		case LeaseTaken:
			turn, taken = &Turn{Job: c.Job, InFlight: count(running, false)}, c.At
		case JobFinished:
			if !c.Cluster {
				last = c.At
			}
			delete(running, c.Job)
		case JobCreated:
			j.Operations++
			for _, other := range meets(running, c.Cluster) {
				j.Overlaps = append(j.Overlaps, fmt.Sprintf("%s began while %s ran", c.Job, other))
			}
			running[c.Job] = c.Cluster
			if turn != nil && !c.Cluster {
				turn.Begun++
			}
			if turn != nil && c.Cluster {
				turn.WaitedSeconds = c.At.Sub(taken).Seconds()
				if !last.IsZero() && last.After(taken) {
					after := c.At.Sub(last).Seconds()
					turn.AfterLastSeconds = &after
				}
				j.Turns = append(j.Turns, *turn)
				turn = nil
			}
		}
	}
	return j
}

// meets lists the running Jobs that one of the cluster's, or of a machine's, must not meet.
func meets(running map[string]bool, cluster bool) []string {
	var others []string
	for job, theirs := range running {
		if cluster || theirs {
			others = append(others, job)
		}
	}
	slices.Sort(others)
	return others
}

func count(running map[string]bool, cluster bool) (n int) {
	for _, theirs := range running {
		if theirs == cluster {
			n++
		}
	}
	return n
}
