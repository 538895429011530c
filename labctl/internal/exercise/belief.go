package exercise

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// Belief is what an observation asks of the record's times, and of what the replicas themselves say. What is not given is not
// asked.
type Belief struct {
	// RenewTime is past or future: the record's renewTime is more than an hour from now by this machine's clock.
	RenewTime string `json:"renewTime,omitempty"`
	// Stands is for how many seconds at least nobody has written the Lease, by the API server's clock.
	Stands int `json:"stands,omitempty"`
	// Restarted is whether the container of any replica was restarted.
	Restarted *bool `json:"restarted,omitempty"`
	// Leaders is the sum of is_leader over the replicas, and Answering how many of them answer the webhook.
	Leaders   *int `json:"leaders,omitempty"`
	Answering *int `json:"answering,omitempty"`
	// Transitions is how high leaseTransitions is at least.
	Transitions int `json:"transitions,omitempty"`
	// Own is whether the Deployment runs the operator itself, and no other program in its place.
	Own *bool `json:"own,omitempty"`
}

// Values of RenewTime.
const (
	RenewedPast   = "past"
	RenewedFuture = "future"
)

// farOff is how wrong a renewTime has to be; no clock of a machine is that wrong by accident.
const farOff = time.Hour

func (b Belief) valid() error {
	if b.RenewTime != "" && b.RenewTime != RenewedPast && b.RenewTime != RenewedFuture {
		return fmt.Errorf("renewTime %q is neither %s nor %s", b.RenewTime, RenewedPast, RenewedFuture)
	}
	return nil
}

// asks reports whether the replicas themselves have to be asked.
func (b Belief) asks() bool { return b.Leaders != nil || b.Answering != nil }

// Asks reports whether a check of the entry has to ask the replicas themselves.
func (e Exercise) Asks(entry *Entry) bool {
	return slices.ContainsFunc(e.Questions, func(q Question) bool {
		_, seen := entry.Seen[q.ID]
		return q.Live != nil && q.Live.asks() && !seen
	})
}

// differs says in what the lab is not as asked; empty if it is.
func (b Belief) differs(now Snapshot) string {
	if d := b.record(now); d != "" {
		return d
	}
	restarts := 0
	for _, p := range now.Pods {
		restarts += p.Restarts
	}
	switch {
	case b.Own != nil && *b.Own != (now.Program == ""):
		return fmt.Sprintf("the Deployment runs %s", cmp.Or(now.Program, "the operator itself"))
	case b.Restarted != nil && *b.Restarted != (restarts > 0):
		return fmt.Sprintf("the replicas' containers were restarted %d times", restarts)
	case b.Leaders != nil && now.Leaders != *b.Leaders:
		return fmt.Sprintf("is_leader is %d in sum, asked for is %d", now.Leaders, *b.Leaders)
	case b.Answering != nil && now.Answering != *b.Answering:
		return fmt.Sprintf("%d replicas answer /convert, %d are asked for", now.Answering, *b.Answering)
	}
	return ""
}

// record compares the Lease's times and count.
func (b Belief) record(now Snapshot) string {
	if b.RenewTime == "" && b.Stands == 0 && b.Transitions == 0 {
		return ""
	}
	l := now.Lease
	if l == nil {
		return "there is no Lease"
	}
	age, stands := now.At.Sub(l.RenewTime), now.At.Sub(now.WrittenAt)
	switch {
	case b.RenewTime == RenewedPast && age < farOff, b.RenewTime == RenewedFuture && age > -farOff:
		return fmt.Sprintf("renewTime is %s, written by %s, and not far in the %s", l.RenewTime.Format(time.RFC3339), holder(*l), b.RenewTime)
	case stands < time.Duration(b.Stands)*time.Second:
		return fmt.Sprintf("the record of %s was written %.0f s ago, and is to stand for %d s or more", holder(*l), stands.Seconds(), b.Stands)
	case l.Transitions < b.Transitions:
		return fmt.Sprintf("leaseTransitions is %d, asked for is %d or more", l.Transitions, b.Transitions)
	}
	return ""
}

func holder(l timeline.Lease) string {
	if l.Holder == "" {
		return "nobody"
	}
	return l.Holder
}
