package gap

import (
	"math"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Setting is a choice of the three durations, and what it gives. Figures are for one standby and no replacement.
type Setting struct {
	Timing api.Timing `json:"timing"`
	// WorstSeconds and MeanSeconds are the lock gap when nobody releases, ReleasedSeconds the worst one after a release.
	WorstSeconds    float64 `json:"worstSeconds"`
	MeanSeconds     float64 `json:"meanSeconds"`
	ReleasedSeconds float64 `json:"releasedSeconds"`
	// OutageSeconds is the longest outage of the API server that costs nothing, whenever it begins.
	OutageSeconds float64 `json:"outageSeconds"`
	// MarginSeconds is LeaseDuration − RenewDeadline − RetryPeriod: how late the answer to a renewal may be before a standby can
	// lead while the old leader's workers still run. ClockRatio is how much faster a standby's clock may run.
	MarginSeconds float64 `json:"marginSeconds"`
	ClockRatio    float64 `json:"clockRatio"`
	// WritesPerMinute are the leader's, ReadsPerMinute one standby's.
	WritesPerMinute float64 `json:"writesPerMinute"`
	ReadsPerMinute  float64 `json:"readsPerMinute"`
}

// Judge says what a choice of durations gives. renew is how long a renewal takes at most.
func Judge(t api.Timing, renew time.Duration) Setting {
	in := Input{Timing: t, Mode: fault.Kill, Standbys: 1}
	lease, deadline, retry := t.LeaseDuration.Seconds(), t.RenewDeadline.Seconds(), t.RetryPeriod.Seconds()
	p := PredictClass(in, timeline.Expired)
	return Setting{Timing: t, WorstSeconds: p.MaxSeconds, MeanSeconds: p.MeanSeconds, ReleasedSeconds: LongestPause * retry,
		OutageSeconds: max(0, deadline-renew.Seconds()), MarginSeconds: lease - deadline - retry, ClockRatio: milli(lease / (deadline + retry)),
		WritesPerMinute: 60 / retry, ReadsPerMinute: milli(60 / (retry * (1 + jitter/2)))}
}

// What a choice must have: at least so many tries to renew within RenewDeadline, and a pause that is longer than a renewal.
const leastTries = 3

// mostSettings is how many choices are told; of more they are taken at even distances, the first and the last among them.
const mostSettings = 8

// Advise returns the choices of whole seconds whose worst gap is not longer than worst, with the longest RetryPeriod last. A
// renewal takes renew at most; the margin is that and a second more. There may be none.
func Advise(worst, renew time.Duration) []Setting {
	margin := time.Duration(math.Ceil(renew.Seconds())+1) * time.Second
	var timings []api.Timing
	for retry := time.Second; ; retry += time.Second {
		lease := (worst - time.Duration(2*LongestPause*float64(retry))).Truncate(time.Second)
		deadline := lease - retry - margin
		if deadline < leastTries*retry+renew {
			break
		}
		t := api.Timing{LeaseDuration: lease, RenewDeadline: deadline, RetryPeriod: retry}
		if retry > renew && t.Validate() == nil {
			timings = append(timings, t)
		}
	}
	var settings []Setting
	for i := range min(len(timings), mostSettings) {
		at := 0
		if last := min(len(timings), mostSettings) - 1; last > 0 {
			at = i * (len(timings) - 1) / last
		}
		settings = append(settings, Judge(timings[at], renew))
	}
	return settings
}
