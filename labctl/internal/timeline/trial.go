package timeline

import (
	"encoding/json"
	"fmt"
	"time"
)

// Class says how the Lease came to its next holder.
type Class string

// The classes of a failover.
const (
	Released     Class = "released"      // an empty holder was seen before the new one
	Expired      Class = "expired"       // the new holder waited the record's LeaseDuration out
	SameIdentity Class = "same-identity" // the old holder's identity took its own Lease back: no transition
	Stolen       Class = "stolen"        // the holder changed while the record was still valid, without a release
	Deleted      Class = "deleted"       // the Lease object went away in between
	Unknown      Class = "unknown"       // no new holder was seen, or the record has a hole where it matters
)

// Winner says who took the Lease. The empty Winner, null in JSON, was not seen.
type Winner string

// The winners of a failover.
const (
	Standby     Winner = "standby"     // a candidate that was polling before the fault
	Replacement Winner = "replacement" // a pod that was made after the fault
	Same        Winner = "same"        // the pod that held it before
)

// MarshalJSON writes null for a winner that was not seen.
func (w Winner) MarshalJSON() ([]byte, error) {
	if w == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(w))
}

// Trial is one fault and what followed, derived from events alone. A nil figure was not seen.
type Trial struct {
	Mode   string `json:"mode"`
	Class  Class  `json:"class"`
	Winner Winner `json:"winner"`
	// GapSeconds is T7 − T0: fault issued to the successor's first reconcile, what a user feels.
	GapSeconds *float64 `json:"gapSeconds"`
	// LockGapSeconds is T5 − T4 if the Lease was released, else T5 − T3: nobody can hold. It is what the model predicts.
	LockGapSeconds *float64 `json:"lockGapSeconds"`
	// OverlapSeconds is how long the old leader worked beside the new one: 0 if seen to be none, nil if it could not be seen.
	OverlapSeconds *float64 `json:"overlapSeconds"`
	// OverlapGoesOn is whether both still worked when the trial ended: OverlapSeconds is the least that it was, then.
	OverlapGoesOn bool `json:"overlapGoesOn,omitempty"`
	// UncertaintySeconds is how far LockGapSeconds may be off: the larger lag of its two instants, how late one was seen after its
	// source wrote it down. Where replicas and observer do not share a clock it is how much later than the quickest renewals other ones
	// arrive (95th percentile). Nil if it is not known.
	UncertaintySeconds *float64 `json:"uncertaintySeconds"`
	// GapUncertaintySeconds is the same of GapSeconds: how late T7 was seen. T0 is labctl's own and exact.
	GapUncertaintySeconds *float64 `json:"gapUncertaintySeconds"`
	// OverlapUncertaintySeconds is the resolution of the work that is seen: one tick at either end.
	OverlapUncertaintySeconds *float64 `json:"overlapUncertaintySeconds"`
	// ClockOffsetSeconds is how far the holder's clock is behind the observer's, and the quickest delivery together; nil where
	// the clock is one.
	ClockOffsetSeconds *float64 `json:"clockOffsetSeconds"`
	// Terms takes the lock gap apart; nil without the API server's audit log.
	Terms        *Terms  `json:"terms"`
	PhaseSeconds float64 `json:"phaseSeconds"`
	Standbys     int     `json:"standbys"`
	// ReplacementStartSeconds is when the replacement's first log line came, after T0.
	ReplacementStartSeconds *float64 `json:"replacementStartSeconds"`
	HolderBefore            string   `json:"holderBefore"`
	HolderAfter             *string  `json:"holderAfter"`
	TransitionsBefore       int      `json:"transitionsBefore"`
	TransitionsAfter        *int     `json:"transitionsAfter"`
	// LeaseDurationSeconds is what the Lease said before the fault, and RenewEverySeconds the median pause between the holder's
	// last renewals by its own clock; nil if too few were seen.
	LeaseDurationSeconds int       `json:"leaseDurationSeconds"`
	RenewEverySeconds    *float64  `json:"renewEverySeconds"`
	WallT0               time.Time `json:"wallT0"`
	// InstantsSeconds holds T1 … T7 in seconds after T0, those that were seen.
	InstantsSeconds map[string]float64 `json:"instantsSeconds"`
	// Sources says who told each instant, and LagsSeconds how late: arrival − the source's own time, where the clock is one.
	Sources     map[string]Source  `json:"sources"`
	LagsSeconds map[string]float64 `json:"lagsSeconds"`
	// Elected is what the API server did where it elects the holder; nil where candidates take the Lease themselves.
	Elected *Elected `json:"elected,omitempty"`
	// Upgrade is which version held the Lease while two were there; nil for a fault that is no upgrade.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Lane is the set of replicas it was done to, from 1; 0 if there was one.
	Lane    int    `json:"lane,omitempty"`
	Kubectl string `json:"kubectl,omitempty"`
	// Void says why the trial must not be counted; empty for a good one.
	Void string `json:"void,omitempty"`
	// HandOvers are all that came of the fault, in order; the figures are those of the first one that ended with a leader.
	HandOvers []HandOver `json:"handOvers,omitempty"`
	// WorkedOnSeconds is how long the holder worked on after the Lease was stolen from it or deleted; nil if that was not done, or
	// not seen to its end.
	WorkedOnSeconds *float64 `json:"workedOnSeconds,omitempty"`
	// LateWrites are the old leader's writes that went through after the new one's first work, and RefusedWrites those that did not:
	// the fence or the API server refused them, by its own log.
	LateWrites    int `json:"lateWrites,omitempty"`
	RefusedWrites int `json:"refusedWrites,omitempty"`
	// Errors are the warnings and errors that the replicas logged during the trial, and requests on the Lease that were refused.
	Errors []string `json:"errors,omitempty"`
}

// Instant returns the named instant (T1 … T7) in seconds after T0, and whether it was seen.
func (t Trial) Instant(name string) (float64, bool) {
	v, ok := t.InstantsSeconds[name]
	return v, ok
}

// StopSeconds is how long the old holder's process lived on after it had logged that it was asked to stop; 0 if that was not seen.
func (t Trial) StopSeconds() float64 {
	asked, logged := t.Instant(T2)
	ended, gone := t.Instant(T3)
	if !logged || !gone {
		return 0
	}
	return max(0, ended-asked)
}

// Complete reports whether the successor was seen to hold the Lease and to work.
func (t Trial) Complete() bool { return t.Class != Unknown && t.GapSeconds != nil }

// Overlapped is how long two leaders worked, in words, if they did.
func (t Trial) Overlapped() string {
	if t.OverlapGoesOn {
		return fmt.Sprintf("at least %.2f s: both still worked when it was looked at last", *t.OverlapSeconds)
	}
	return fmt.Sprintf("%.2f s", *t.OverlapSeconds)
}
