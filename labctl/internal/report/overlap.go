package report

import (
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/check"
)

// overlaps tells in how many trials two led and for how long, what none bounds, and what became of the old leader's writes; ""
// if there are too few trials to tell.
func overlaps(groups []group) string {
	var lengths []float64
	seen, written, refused := 0, 0, 0
	for _, g := range groups {
		for _, t := range g.trials {
			if t.Void != "" || t.OverlapSeconds == nil {
				continue
			}
			seen, written, refused = seen+1, written+t.LateWrites, refused+t.RefusedWrites
			if *t.OverlapSeconds > 0 {
				lengths = append(lengths, *t.OverlapSeconds)
			}
		}
	}
	bound := check.RuleOfThree(seen)
	if len(lengths) == 0 && bound == "" {
		return "" // too few to say anything of
	}
	told := []string{fmt.Sprintf("two leaders: in 0 of %d trials%s", seen, bound)}
	if len(lengths) > 0 {
		slices.Sort(lengths)
		told[0] = fmt.Sprintf("two leaders: in %d of %d trials, for %.2f / %.2f / %.2f s (min/median/max)", len(lengths), seen, lengths[0], quantile(lengths, 0.5), lengths[len(lengths)-1])
	}
	if written+refused > 0 {
		told = append(told, fmt.Sprintf("writes of an old leader after its successor's first work: %d went through, %d refused", written, refused))
	}
	return strings.Join(told, "\n")
}

// leaderless tells for how long nobody led in all the trials: the sum of their lock gaps, which are those of their first
// hand-overs.
func leaderless(groups []group) string {
	sum, more := 0.0, false
	for _, g := range groups {
		for _, t := range g.trials {
			if t.Void == "" && t.LockGapSeconds != nil {
				sum, more = sum+*t.LockGapSeconds, more || len(t.HandOvers) > 1
			}
		}
	}
	told := fmt.Sprintf("nobody led for %.1f s in sum", sum)
	if more {
		told += ", in the first one of each trial"
	}
	return told
}
