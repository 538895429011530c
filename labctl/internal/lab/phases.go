package lab

import (
	"math/rand/v2"
	"time"

	"academy.example/lab/operator/api"
)

// draws is the source of a lane's random phases: the same seed and lane draw the same ones.
func draws(seed uint64, lane int) *rand.Rand { return rand.New(rand.NewPCG(seed, seed+uint64(lane))) }

// Phases returns the first n phases that a seed draws on a lane. A trial takes the next one, or one of those after it if the
// lab did not stay settled during the wait before the fault.
func Phases(seed uint64, lane int, t api.Timing, n int) []time.Duration {
	random := draws(seed, lane)
	phases := make([]time.Duration, n)
	for i := range phases {
		_, phases[i] = moment(random, t)
	}
	return phases
}

// Nameless returns what takes the user's folders and name, and those below the given folders, out of a text that is handed on.
func Nameless(folders ...string) func(string) string { return nameless(folders...) }
