// Package report owns how a finished run is shown: to people as text, Markdown and one HTML page, to programs as JSON, to CI systems as JUnit.
// Everything here is a function of recorded trials to an io.Writer.
package report

import (
	"encoding/json"
	"io"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Schema is the version of every JSON object that labctl writes.
const Schema = "lab/v1"

// Header is what ran.
type Header struct {
	Schema   string `json:"schema"`
	Kind     string `json:"kind"`
	Provider string `json:"provider"`
	// Operator is namespace/name of the Deployment that was measured, and Lease that of its Lease.
	Operator string `json:"operator"`
	Lease    string `json:"lease"`
	// Foreign is whether the operator is not the lab's. Its settings but the timing are not known, and null.
	Foreign bool `json:"foreign"`
	// Program is what runs in the place of the lab's own operator, which the settings are claimed by; empty for that itself.
	Program         string  `json:"program,omitempty"`
	Election        Setting `json:"election"`
	Identity        Setting `json:"identity"`
	ReleaseOnCancel *bool   `json:"releaseOnCancel"`
	// OnLoss and Guards are what a guarded replica does when it loses the Lease, and its protections; unset for any other
	// election, and in a record from before they were kept.
	OnLoss Setting     `json:"onLoss,omitempty"`
	Guards *api.Guards `json:"guards,omitempty"`
	// Timing is what the operator ran with. A foreign one's RetryPeriod is told from its renewals, and RenewDeadline is null.
	Timing api.Timing `json:"timing"`
	// PodStartLatencySeconds is how long the node waits before it starts a pod; it decides how often a replacement wins.
	PodStartLatencySeconds float64 `json:"podStartLatencySeconds"`
	// Kubernetes is the API server's version; empty without one, and in a record from before it was kept.
	Kubernetes string `json:"kubernetes,omitempty"`
}

// ProviderSimulated is the provider of a run in virtual time: no cluster, no pods, and no replacement of a leader that is gone.
const ProviderSimulated = "simulated"

// Virtual reports whether the run was played in virtual time.
func (h Header) Virtual() bool { return h.Provider == ProviderSimulated }

// Setting is a word of the operator's settings; the empty one, null in JSON, is not known.
type Setting string

// MarshalJSON writes null for a setting that is not known.
func (s Setting) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}

// Failover is a finished run of trials.
type Failover struct {
	Header
	N         int                       `json:"n"`
	Requested int                       `json:"requested"`
	Trials    []timeline.Trial          `json:"trials"`
	Predicted map[string]gap.Prediction `json:"predicted"`
	Checks    []check.Check             `json:"checks"`
	Verdict   check.Verdict             `json:"verdict"`
	Run       string                    `json:"run"` // folder
	// Cut says why the run ended before the requested trials were done; empty for a whole run.
	Cut string `json:"cut,omitempty"`
}

// CutShort marks a run that ended early. What was not done can't have passed.
func (f *Failover) CutShort(why string) {
	f.Cut = why
	if f.Verdict == check.Pass {
		f.Verdict = check.Unknown
	}
}

// NewFailover judges the trials and returns the run's report.
func NewFailover(h Header, trials []timeline.Trial, run string) Failover {
	h.Schema, h.Kind = Schema, "Failover"
	f := Failover{Header: h, N: len(trials), Requested: len(trials), Trials: trials, Predicted: map[string]gap.Prediction{}, Run: run}
	if trials == nil {
		f.Trials = []timeline.Trial{}
	}
	var cases []check.Case
	for _, t := range trials {
		in := h.Of(t)
		cases = append(cases, check.Case{Trial: t, Input: in, Foreign: h.Foreign})
		before, known := f.Predicted[t.Mode]
		switch p, err := gap.Predict(in); {
		case h.Foreign && !known && t.LockGapSeconds != nil: // whether it releases is not known before
			f.Predicted[t.Mode] = gap.PredictClass(in, t.Class)
		case !h.Foreign && err == nil && known:
			p.MinSeconds, p.MaxSeconds = min(before.MinSeconds, p.MinSeconds), max(before.MaxSeconds, p.MaxSeconds)
			f.Predicted[t.Mode] = p
		case !h.Foreign && err == nil:
			f.Predicted[t.Mode] = p
		}
	}
	f.Checks = check.Run(cases)
	f.Verdict = check.Overall(f.Checks)
	return f
}

// replacementWork is what a replacement needs beside the node's start latency until its first poll: it is made, bound,
// started and connected. See docs/measuring.md.
const replacementWork = 0.15

// ReplacementStart is when a replacement first polls, in seconds after the fault, as the model takes it.
func (h Header) ReplacementStart() float64 { return h.PodStartLatencySeconds + replacementWork }

// ReplacementStart is when a replacement pod first polls on a node of that pod start latency.
func ReplacementStart(podStartLatency time.Duration) time.Duration {
	return podStartLatency + time.Duration(replacementWork*float64(time.Second))
}

// Of is what the model needs to know of a trial that was done: with no standby the range is that of its own replacement.
func (h Header) Of(t timeline.Trial) gap.Input {
	in := h.Input(fault.Mode(t.Mode), t.Standbys)
	in.StopSeconds = t.StopSeconds()
	if t.ReplacementStartSeconds != nil && in.Standbys < 1 {
		in.ReplacementStart = *t.ReplacementStartSeconds
	}
	return in
}

// Input is what the model needs to know of a trial that is about to be done.
func (h Header) Input(m fault.Mode, standbys int) gap.Input {
	replacement := h.ReplacementStart()
	d, _ := fault.Describe(m)
	if !d.Replaces() || h.Virtual() {
		replacement = 0 // its pod stays, or there are none
	}
	if d.Kind == fault.OfReplicas {
		standbys = max(1, standbys) // a new replica is ready before an old one is told to end
	}
	return gap.Input{
		Timing: h.Timing, Mode: m, Standbys: standbys, ReplacementStart: replacement,
		KeepsLease: h.ReleaseOnCancel != nil && !*h.ReleaseOnCancel, UniqueIdentity: h.Identity == api.IdentityPodUUID,
		Remakes: h.Election == api.ElectionPlain, Coordinated: h.Election == api.ElectionCoordinated,
	}
}

// JSON writes a value as one indented JSON object.
func JSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
