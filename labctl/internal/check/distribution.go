package check

import (
	"fmt"
	"math/rand/v2"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// Enough is the least number of trials of one class whose distribution is compared with the model's, and unlikely the
// probability below which the comparison fails: one true run in ten thousand does.
const (
	Enough   = 30
	unlikely = 1e-4
	doubtful = 0.01 // one good run of a hundred is
)

// Distribution is the name of the check of how the lock gaps of many trials are spread.
const Distribution = "distribution"

// distributions compares the spread of the lock gaps with the model, for each class with enough trials. The requests that
// the model leaves out make every gap a few milliseconds longer, which thousands of trials would show.
func distributions(cases []Case) []Check {
	var checks []Check
	for _, class := range []timeline.Class{timeline.Released, timeline.Expired} {
		ranks := ranks(cases, class)
		if len(ranks) < Enough {
			continue
		}
		distance, p := gap.Kolmogorov(ranks)
		c := Check{Name: Distribution, Verdict: Pass, Reason: fmt.Sprintf("the %d lock gaps of class %s are spread as the model says (Kolmogorov-Smirnov distance %.3f, p = %.2g)", len(ranks), class, distance, p)}
		if p < doubtful {
			c.Reason = fmt.Sprintf("the %d lock gaps of class %s can just be told from what the model says, and not for sure (Kolmogorov-Smirnov distance %.3f, p = %.2g; below %g it is a failure)", len(ranks), class, distance, p, unlikely)
		}
		if p < unlikely {
			c.Verdict = Fail
			c.Reason = fmt.Sprintf("the %d lock gaps of class %s are not spread as the model says (Kolmogorov-Smirnov distance %.3f, p = %.2g)", len(ranks), class, distance, p)
		}
		checks = append(checks, c)
	}
	return checks
}

// ranks are where the gaps of one class lie in their distributions.
func ranks(cases []Case, class timeline.Class) []float64 {
	random := rand.New(rand.NewPCG(1, 1)) // so that the same record gives the same verdict
	var ranks []float64
	for _, c := range cases {
		t := c.Trial
		if t.Void != "" || t.Class != class || t.LockGapSeconds == nil || c.Input.Standbys < 1 || !c.Input.Uniform() || t.Winner != timeline.Standby && t.Winner != timeline.Replacement {
			continue
		}
		in := c.Input
		in.ReplacementStart = 0 // whether it was quicker is in the record
		ranks = append(ranks, gap.Distribute(in, class, -1).Rank(*t.LockGapSeconds, t.Winner == timeline.Replacement, random.Float64()))
	}
	return ranks
}
