// Package heartbeat reads a leader-election Lease as a sign of life. That a controller's objects exist, or that a condition
// of them is True, proves only that somebody once wrote them. A holder with a recent renewal is what only a live leader
// produces.
//
// What it does not prove. A heartbeat is of the moment at which it was read: nothing here watches. It is no fence: two
// replicas may both believe that they lead, and each write of theirs has to name the version that was read. And it compares
// the holder's clock (renewTime) with the reader's, which client-go's election never does: where the two disagree by more than
// the window, a healthy leader looks dead, or a dead one alive.
package heartbeat

import (
	"fmt"
	"math"
	"time"
)

// Verdict answers whether a leader is alive.
type Verdict string

// The verdicts. Only Yes opens anything.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"      // the Lease was read, or seen to be missing, and a rule failed
	Unknown Verdict = "unknown" // the Lease could not be read: that says nothing about the leader
)

// Windows is how many leaseDurationSeconds old a renewal may be. Two, since a successor that stands by takes the Lease over
// when the record is at most LeaseDuration + 4.4·RetryPeriod old, which at 15/10/2 is 23.8 of 30 s.
const Windows = 2

// subject begins each reason, in the words of the adapter that these rules are for.
const subject = "the admission controller's Lease"

// Record is what the rules look at.
type Record struct {
	Holder string // holderIdentity; "" also if there is none
	// RenewTime is by the holder's clock; the zero time if there is none.
	RenewTime time.Time
	// LeaseDurationSeconds is nil if there is none.
	LeaseDurationSeconds *int32
}

// Reading is a verdict and what it follows from.
type Reading struct {
	Verdict Verdict
	// Reason is which rule failed, or why the Lease could not be read; empty if the verdict is Yes.
	Reason string
	// Record is nil if the Lease does not exist or was not read.
	Record *Record
	// Age is the reader's time − renewTime, negative if that is in the future, and at most 292 years either way; nil without a renewTime.
	Age *time.Duration
	// Limit is the greatest age that passes, Windows × leaseDurationSeconds; nil without a duration.
	Limit *time.Duration
}

// Judge applies the three rules to what a Lease says, in order; the first that fails is the reason. now is the reader's time.
//
//  1. It has a holder.
//  2. It has a renewTime and a leaseDurationSeconds.
//  3. renewTime is at most Windows × leaseDurationSeconds before now; exactly that much passes, and so does the future.
//
// A released Lease, which has no holder and a duration of one second, fails the first.
func Judge(r Record, now time.Time) Reading {
	out := Reading{Verdict: No, Record: &r}
	if !r.RenewTime.IsZero() {
		age := now.Sub(r.RenewTime)
		out.Age = &age
	}
	if r.LeaseDurationSeconds != nil {
		limit := Windows * time.Duration(*r.LeaseDurationSeconds) * time.Second
		out.Limit = &limit
	}
	switch {
	case r.Holder == "":
		out.Reason = subject + " has no holder"
	case out.Age == nil || out.Limit == nil:
		out.Reason = subject + " has never been renewed"
	case *out.Age > *out.Limit:
		out.Reason = fmt.Sprintf("%s was last renewed %s ago, beyond %s", subject, shown(*out.Age), *out.Limit)
	default:
		out.Verdict = Yes
	}
	return out
}

// shown rounds an age up to the millisecond, so that one beyond the limit never reads like the limit.
func shown(age time.Duration) string {
	if age == math.MaxInt64 { // as much as a Duration holds; adding to it would make it negative
		return "more than 292 years"
	}
	if up := age.Truncate(time.Millisecond); up != age {
		age = up + time.Millisecond
	}
	return age.String()
}
