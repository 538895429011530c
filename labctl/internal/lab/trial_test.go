package lab

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"academy.example/lab/operator/api"
)

// A standby polls at 0, which settles the lab, and from then on every RetryPeriod·(1 + 1.2·U). The time from the fault to its
// next poll must be distributed as from any moment: density (1 − F(x))/mean for pauses uniform in [1, 2.2] RetryPeriods.
// The largest distance of the two distributions is 0.01 with this wait (seeded, so always the same); it would be 0.24 with
// a wait uniform in one RetryPeriod.
func TestMoment_IsAnyMoment(t *testing.T) {
	const draws = 60000
	random := rand.New(rand.NewPCG(1, 2))
	timing := api.Default()
	retry := timing.RetryPeriod.Seconds()
	next := make([]float64, draws)
	for i := range next {
		wait, _ := moment(random, timing)
		at := 0.0
		for at < wait.Seconds() {
			at += retry * (1 + 1.2*random.Float64())
		}
		next[i] = (at - wait.Seconds()) / retry
	}
	slices.Sort(next)
	distance := 0.0
	for i, x := range next {
		distance = max(distance, math.Abs(float64(i)/draws-1+survival(x)))
	}
	if distance > 0.015 {
		t.Errorf("the distributions differ by %.3f, want at most 0.015", distance)
	}
}

// survival is P(next poll > x RetryPeriods) at a random moment, in RetryPeriods.
func survival(x float64) float64 {
	if x <= 1 {
		return 1 - x/1.6
	}
	return (2.2 - x) * (2.2 - x) / 3.84
}
