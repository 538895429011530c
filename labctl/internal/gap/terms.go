package gap

import (
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Term is one part of a lock gap. The parts of one candidate add up to its gap; of several candidates the quickest counts.
type Term struct {
	Name        string  `json:"name"`
	MinSeconds  float64 `json:"minSeconds"`
	MeanSeconds float64 `json:"meanSeconds"`
	MaxSeconds  float64 `json:"maxSeconds"`
	// Flag is the operator's flag that sets it; empty if none does.
	Flag string `json:"flag"`
	// Source is where client-go does it: the version it was read in, the file and line, and the function.
	Source string `json:"source"`
}

// The lines that the terms come from; TestTerms_SourcesAreTrue reads them.
const (
	clientGo       = "client-go v0.37.2 tools/leaderelection/leaderelection.go"
	sourceAcquire  = clientGo + ":259 (acquire)"
	sourceRenew    = clientGo + ":284 (renew)"
	sourceIsValid  = clientGo + ":553 (isLeaseValid)"
	flagRetry      = "--" + api.FlagRetryPeriod
	flagLease      = "--" + api.FlagLeaseDuration
	restartByNodes = "the node's restart of a container"
)

// Explain returns the terms of one standby's lock gap, in the order in which they pass; of a replacement alone if there is no
// standby.
func Explain(in Input, class timeline.Class) []Term {
	retry, lease := in.Timing.RetryPeriod.Seconds(), in.Timing.LeaseDuration.Seconds()
	residual := retry * (1 + jitter + jitter*jitter/3) / (2 * (1 + jitter/2)) // E[g²]/(2·E[g]), g uniform in [1, 2.2]
	switch {
	case in.kind() == fault.OfServer:
		return []Term{{"the API server is back; until the next poll of a replica", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire}}
	case class == timeline.Deleted:
		return []Term{{"there is no Lease; until a standby's next poll", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire}}
	case class == timeline.SameIdentity:
		p := restart()
		return []Term{{restartByNodes, p.MinSeconds, p.MeanSeconds, p.MaxSeconds, "", ""}}
	case in.Standbys < 1 && class == timeline.Released:
		return []Term{replacement(in)}
	case class == timeline.Released:
		return []Term{{"the Lease is free; until a standby's next poll", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire}}
	}
	overshoot := milli((&Distribution{step: retry / cells, survival: overshootSurvival(lease / retry)}).Mean())
	ends := []Term{
		{"LeaseDuration, on the candidate's own clock", lease, lease, lease, flagLease, sourceIsValid},
		{"from then until its next poll", 0, overshoot, LongestPause * retry, flagRetry, sourceAcquire},
	}
	if class == timeline.Stolen {
		return append([]Term{{"from the theft until a standby first sees it", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire}}, ends...)
	}
	if in.Standbys < 1 {
		return append([]Term{replacement(in)}, ends...)
	}
	if in.kind() == fault.OfAnswers {
		return append([]Term{
			{"until the next renewal, which is written", 0, retry / 2, retry, flagRetry, sourceRenew},
			{"from that renewal until the standby first sees it", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire},
		}, ends...)
	}
	return append([]Term{
		{"the last renewal was a while before the fault", -retry, -retry / 2, 0, flagRetry, sourceRenew},
		{"from that renewal until the standby first sees it", 0, milli(residual), LongestPause * retry, flagRetry, sourceAcquire},
	}, ends...)
}

// ExplainAged is Explain for a holder that is killed age seconds after its last renewal.
func ExplainAged(in Input, age float64) []Term {
	terms := Explain(in, timeline.Expired)
	if in.Standbys > 0 {
		terms[0].MinSeconds, terms[0].MeanSeconds, terms[0].MaxSeconds = -age, -age, -age
	}
	return terms
}

func replacement(in Input) Term {
	s := in.ReplacementStart
	return Term{"until the replacement's first poll", s, s, s, "", ""}
}
