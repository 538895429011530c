package check

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// made are n trials of a kill whose gaps follow the distribution of one timing, judged by another. A replacement, if there is
// one, wins some of the races.
func made(n int, real, claimed api.Timing, replaced bool, seed uint64) []Case {
	r := rand.New(rand.NewPCG(seed, seed))
	standbys := gap.Distribute(gap.Input{Timing: real, Mode: fault.Kill, Standbys: 1}, timeline.Expired, -1)
	var cases []Case
	for range n {
		seconds, winner := standbys.Quantile(0.0005+0.999*r.Float64()), timeline.Standby
		if replacement := 16 + 3*r.Float64(); replaced && replacement < seconds {
			seconds, winner = replacement, timeline.Replacement
		}
		cases = append(cases, Case{Trial: timeline.Trial{Mode: "kill", Class: timeline.Expired, Winner: winner, LockGapSeconds: &seconds},
			Input: gap.Input{Timing: claimed, Mode: fault.Kill, Standbys: 1, ReplacementStart: 1.3}})
	}
	return cases
}

func TestDistributions_TrueRunsPass(t *testing.T) {
	for seed := range uint64(200) {
		for _, c := range distributions(made(100, api.Default(), api.Default(), seed%2 == 0, seed)) {
			if c.Verdict != Pass {
				t.Errorf("seed %d: %s", seed, c.Reason)
			}
		}
	}
}

// Claimed a RetryPeriod of 2 s, really 3 s: a hundred trials without a replacement tell in most runs. (What tells it for
// sure is the pause between renewals.) The share was 44 of 50; 35 is three standard errors below.
func TestDistributions_AWrongRetryPeriodFails(t *testing.T) {
	real := api.Timing{LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 3 * time.Second}
	told := 0
	for seed := range uint64(50) {
		checks := distributions(made(100, real, api.Default(), false, seed))
		if len(checks) == 1 && checks[0].Verdict == Fail && strings.Contains(checks[0].Reason, "are not spread") {
			told++
		}
	}
	if told < 35 {
		t.Errorf("only %d of 50 runs tell", told)
	}
}

func TestDistributions_FewTrialsAreNotJudged(t *testing.T) {
	if checks := distributions(made(Enough-1, api.Default(), api.Default(), false, 1)); len(checks) != 0 {
		t.Errorf("got %+v", checks)
	}
}
