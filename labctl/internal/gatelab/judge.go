package gatelab

import (
	"cmp"
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
	Failed  bool // of JobFinished: it failed, or was deleted before it had finished
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

// Judgement is what the order of changes shows, and how much of what was asked for it is about.
type Judgement struct {
	Requested  int      `json:"requested"`  // Jobs that were asked for
	Operations int      `json:"operations"` // Jobs that began
	Done       int      `json:"done"`       // of them, those that have finished well
	Ended      string   `json:"ended"`      // why it ended before all had finished; "" if it did not
	Unseen     string   `json:"unseen"`     // what of the order was not seen; "" if all was
	Overlaps   []string `json:"overlaps"`   // Jobs that began while one ran that they must not meet
	Turns      []Turn   `json:"turns"`
	Open       []Turn   `json:"open"` // the cluster took its lease, and its Job never began; WaitedSeconds is until the last change
}

// Judge goes through the changes in the order in which they were stored. What was requested, and why it ended, is left to the caller.
func Judge(changes []Change) Judgement {
	slices.SortStableFunc(changes, func(a, b Change) int { return cmp.Compare(a.Version, b.Version) })
	s := state{Judgement: Judgement{Overlaps: []string{}, Turns: []Turn{}, Open: []Turn{}}, running: map[string]bool{}, begun: map[string]bool{}}
	for _, c := range changes {
		switch c.Kind {
		case LeaseTaken:
			s.take(c)
		case JobFinished:
			s.finish(c)
		case JobCreated:
			s.begin(c)
		}
	}
	if len(changes) > 0 {
		s.leave(changes[len(changes)-1].At)
	}
	return s.Judgement
}

// state is how far Judge has come.
type state struct {
	Judgement
	running map[string]bool // Job → is it the cluster's
	begun   map[string]bool // Jobs
	turn    *Turn           // that waits for its Job
	taken   time.Time       // its lease
	last    time.Time       // the end of the last Job of a machine
}

func (s *state) take(c Change) {
	s.leave(c.At)
	if !s.begun[c.Job] { // else the lease is seen late, by a list
		s.turn, s.taken = &Turn{Job: c.Job, InFlight: count(s.running, false)}, c.At
	}
}

// leave ends a turn whose Job has not begun.
func (s *state) leave(at time.Time) {
	if s.turn == nil {
		return
	}
	s.turn.WaitedSeconds = at.Sub(s.taken).Seconds()
	s.Open = append(s.Open, *s.turn)
	s.turn = nil
}

func (s *state) finish(c Change) {
	if !c.Cluster {
		s.last = c.At
	}
	if !c.Failed {
		s.Done++
	}
	delete(s.running, c.Job)
}

func (s *state) begin(c Change) {
	s.Operations++
	s.begun[c.Job] = true
	for _, other := range meets(s.running, c.Cluster) {
		s.Overlaps = append(s.Overlaps, fmt.Sprintf("%s began while %s ran", c.Job, other))
	}
	s.running[c.Job] = c.Cluster
	switch {
	case s.turn == nil:
	case !c.Cluster:
		s.turn.Begun++
	default:
		s.turn.WaitedSeconds = c.At.Sub(s.taken).Seconds()
		if !s.last.IsZero() && s.last.After(s.taken) {
			after := c.At.Sub(s.last).Seconds()
			s.turn.AfterLastSeconds = &after
		}
		s.Turns = append(s.Turns, *s.turn)
		s.turn = nil
	}
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
