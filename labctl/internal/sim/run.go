package sim

import (
	"math/rand"
	"testing"
	"testing/synctest"
)

// Run plays a scenario n times, each in a bubble of virtual time of its own, and returns what each showed. It needs a test
// because testing/synctest does; Simulate gives the same to a program.
//
// The trials of one seed draw the same moments. Their results are the same, to the bit, if client-go's own draws can be
// seeded (GODEBUG=randseednop=0), if GOMAXPROCS is 1, and if nothing else draws at the same time.
func Run(t *testing.T, s Scenario, n int, seed uint64) []Result {
	t.Helper()
	return run(t, Batch{Scenario: s, N: n, Seed: seed})
}

func run(t *testing.T, b Batch) []Result {
	t.Helper()
	results := make([]Result, b.N)
	for i := range results {
		//lint:ignore SA1019 client-go draws its jitter from the global source
		rand.Seed(int64(b.Seed) + int64(i))
		synctest.Test(t, func(*testing.T) { results[i] = newWorld(b.Scenario, b.Seed+uint64(i)).play(b.Record) })
	}
	return results
}
