package sim

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"

	"academy.example/lab/operator/api"
)

// many is how often each kind of fault is played against the guarded election.
func many() int {
	if testing.Short() {
		return 300
	}
	return 3000
}

func base(election string, change func(*Scenario)) Scenario {
	s := Scenario{Timing: api.Default(), Election: election, Guards: api.AllGuards(), ReleaseOnCancel: true, Standbys: 1, Latency: 5 * time.Millisecond}
	if change != nil {
		change(&s)
	}
	return s
}

// summary is what the tests ask of many results.
type summary struct {
	n, overlaps, tookOver, refused, stale, wiped int
	mean, deviation, longest                     float64 // of the overlaps that were there, in seconds
	meanGap                                      float64
	worked                                       time.Duration // the longest
	margin                                       time.Duration // the shortest
}

func sum(results []Result) summary {
	s := summary{n: len(results), margin: time.Hour}
	var squares float64
	for _, r := range results {
		if o := r.Overlap.Seconds(); o > 0 {
			s.overlaps++
			s.mean += o
			squares += o * o
			s.longest = max(s.longest, o)
		}
		if r.TookOver {
			s.tookOver++
			s.meanGap += r.Gap.Seconds()
			s.margin = min(s.margin, r.Margin)
		}
		if r.Wiped {
			s.wiped++
		}
		s.refused += r.Refused
		s.stale += r.Stale
		s.worked = max(s.worked, r.Worked)
	}
	if n := float64(s.overlaps); n > 0 {
		s.mean /= n
		s.deviation = math.Sqrt(max(0, squares/n-s.mean*s.mean))
	}
	if s.tookOver > 0 {
		s.meanGap /= float64(s.tookOver)
	}
	return s
}

// faults are what the guarded election is put through, in variants that share the number of trials.
func faults() map[string][]Fault {
	all := map[string][]Fault{
		"black hole":                   {{Kind: Cut}},
		"refused connections":          {{Kind: Cut, Refuse: true}},
		"requests lost":                {{Kind: Cut, Way: Requests}},
		"answers lost":                 {{Kind: Cut, Way: Responses}},
		"black hole that heals":        {},
		"answers lost, and back again": {},
		"slow, then cut":               {},
		"frozen":                       {},
	}
	for s := time.Second; s <= 30*time.Second; s += 2 * time.Second {
		all["black hole that heals"] = append(all["black hole that heals"], Fault{Kind: Cut, For: s})
		all["answers lost, and back again"] = append(all["answers lost, and back again"], Fault{Kind: Cut, Way: Responses, For: s})
		all["frozen"] = append(all["frozen"], Fault{Kind: Freeze, For: 2 * s})
	}
	for s := 500 * time.Millisecond; s <= 5*time.Second; s += 500 * time.Millisecond {
		all["slow, then cut"] = append(all["slow, then cut"], Fault{Kind: Cut, Late: s})
	}
	return all
}

func TestGuarded_NoTwoLeadersInAnyPartitionOrFreeze(t *testing.T) {
	for name, variants := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []Result
			shortest := map[api.Timing]time.Duration{api.Default(): time.Hour, api.Fast(): time.Hour}
			for i, f := range variants {
				each := (many() + len(variants) - 1) / len(variants)
				for j, timing := range []api.Timing{api.Default(), api.Fast()} {
					s := base(api.ElectionGuarded, func(s *Scenario) { s.Timing, s.Fault, s.Standbys = timing, f, 1+4*((i+j)%2) })
					results := Run(t, s, (each+1)/2, uint64(i*1000))
					all = append(all, results...)
					shortest[timing] = min(shortest[timing], sum(results).margin)
				}
			}
			got := sum(all)
			if got.n < many() || got.overlaps != 0 || got.stale != 0 || got.wiped != 0 {
				t.Errorf("got %d trials with %d overlaps, %d stale writes, %d leases wiped; want %d and none", got.n, got.overlaps, got.stale, got.wiped, many())
			}
			if got.worked > api.Default().RenewDeadline {
				t.Errorf("a leader worked for %s after its last renewal, want at most RenewDeadline", got.worked)
			}
			if least := shortest[api.Default()]; least < 4*time.Second && name != "frozen" {
				t.Errorf("at 15/10/2 a successor began %s after the leader's last work, want nearly LeaseDuration − RenewDeadline or more", least)
			}
			t.Logf("%d trials, %d takeovers, %d overlaps, %d late writes refused by the fence; shortest margin %s at 15/10/2, %s at 5/3/1",
				got.n, got.tookOver, got.overlaps, got.refused, shortest[api.Default()], shortest[api.Fast()])
		})
	}
}

// The figures are those of a Monte-Carlo model of the protocol with 300,000 trials a row, which knows nothing of this code.
func TestPlain_TwoLeadersAsOftenAndAsLongAsTheModelSays(t *testing.T) {
	const n = 600
	short := api.Timing{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 400 * time.Millisecond}
	for _, row := range []struct {
		timing       api.Timing
		release      bool
		timeout      time.Duration
		standbys     int
		share, mean  float64 // of trials with an overlap, in percent; of those overlaps, in seconds. Rounded as printed
		longest      float64
		roundedShare float64 // half a unit of the last digit printed
	}{
		{api.Default(), false, 0, 1, 0, 0, 0, 0},
		{api.Default(), false, 0, 5, 0, 0, 0, 0},
		{api.Default(), true, 0, 1, 99, 3.7, 7, 0.5},
		{api.Default(), true, 0, 5, 100, 5.3, 7, 0.5},
		{api.Default(), true, 5 * time.Second, 1, 19, 0.7, 2, 0.5},
		{api.Default(), true, 5 * time.Second, 5, 65, 0.8, 2, 0.5},
		{api.Fast(), false, 0, 1, 0, 0, 0, 0},
		{api.Fast(), true, 0, 1, 67, 0.7, 2, 0.5},
		{api.Fast(), true, 0, 5, 100, 1.2, 2, 0.5},
		{api.Fast(), true, 1500 * time.Millisecond, 1, 5, 0.2, 0.5, 0.5},
		{api.Fast(), true, 1500 * time.Millisecond, 5, 23, 0.2, 0.5, 0.5},
		{short, false, 0, 1, 0.9, 0.07, 0.2, 0.05},
		{short, false, 0, 5, 4, 0.07, 0.2, 0.5},
		{short, true, time.Second, 1, 52, 0.4, 1.2, 0.5},
		{short, true, time.Second, 5, 85, 0.4, 1.2, 0.5},
	} {
		t.Run(fmt.Sprintf("%s release %t time-out %s standbys %d", row.timing, row.release, row.timeout, row.standbys), func(t *testing.T) {
			t.Parallel()
			got := sum(Run(t, base(api.ElectionPlain, func(s *Scenario) {
				s.Timing, s.ReleaseOnCancel, s.ClientTimeout, s.Standbys, s.Fault = row.timing, row.release, row.timeout, row.standbys, Fault{Kind: Cut}
			}), n, 1))
			share := 100 * float64(got.overlaps) / n
			p := min(max(row.share, 0.5), 99.5) / 100
			if off := math.Abs(share - row.share); off > row.roundedShare+4*100*math.Sqrt(p*(1-p)/n) || row.share == 0 && got.overlaps > 0 {
				t.Errorf("got an overlap in %.1f %% of %d trials, want %g %%", share, n, row.share)
			}
			if got.overlaps >= 20 { // of fewer the mean says little
				allowed := 4 * got.deviation / math.Sqrt(float64(got.overlaps))
				if digit := map[bool]float64{true: 0.005, false: 0.05}[row.mean < 0.1]; math.Abs(got.mean-row.mean) > digit+allowed {
					t.Errorf("got a mean overlap of %.3f s, want %g s", got.mean, row.mean)
				}
				if got.longest > row.longest+0.06 {
					t.Errorf("got an overlap of %.2f s, want at most %g s", got.longest, row.longest)
				}
			}
			t.Logf("%.1f %%, mean %.2f s, longest %.2f s; worked on for %s", share, got.mean, got.longest, got.worked)
		})
	}
}

func TestPlain_AFrozenLeaderWorksOnForARenewDeadline(t *testing.T) {
	t.Parallel()
	results := Run(t, base(api.ElectionPlain, func(s *Scenario) { s.Fault = Fault{Kind: Freeze, For: 26 * time.Second} }), 500, 1)
	got := sum(results)
	if got.overlaps < got.n*98/100 || got.mean < 9.9 || got.longest > 10.1 || got.stale != 0 || got.refused < got.n {
		t.Errorf("got %+v, want an overlap of RenewDeadline, 10 s, in nearly all, and each late write refused", got)
	}
}

func TestGuards_EachTurnedOffShowsItsWeakPoint(t *testing.T) {
	t.Parallel()
	const n = 300
	off := func(change func(*api.Guards), f Fault, standbys int) summary {
		return sum(Run(t, base(api.ElectionGuarded, func(s *Scenario) { change(&s.Guards); s.Fault, s.Standbys = f, standbys }), n, 1))
	}
	freeze, slow := Fault{Kind: Freeze, For: 26 * time.Second}, Fault{Kind: Cut, Late: 3900 * time.Millisecond}
	if got := off(func(g *api.Guards) { g.Deadline = false }, freeze, 1); got.overlaps < n*9/10 {
		t.Errorf("no deadline, frozen: got %d overlaps of %d, want nearly all", got.overlaps, n)
	}
	if got := off(func(g *api.Guards) { g.Deadline = false }, slow, 5); got.overlaps == 0 {
		t.Errorf("no deadline, slow and then cut: got no overlap in %d", n)
	}
	if got := off(func(g *api.Guards) { g.Deadline, g.Release, g.Client = false, false, false }, Fault{Kind: Cut}, 1); got.overlaps < n*9/10 {
		t.Errorf("nothing but the fence, black hole: got %d overlaps of %d, want nearly all: that is client-go", got.overlaps, n)
	}
	if got := off(func(g *api.Guards) { g.Fence = false }, freeze, 1); got.stale < n*9/10 || got.refused != 0 {
		t.Errorf("no fence, frozen: got %d stale writes of %d, want nearly all", got.stale, n)
	}
}

// The release of plain reaches the API when a successor holds the Lease, and clears it.
func TestPlain_AHealedLeaderMayWipeItsSuccessor(t *testing.T) {
	t.Parallel()
	slow := func(s *Scenario) { s.Fault = Fault{Kind: Cut, For: 18 * time.Second} }
	plain := sum(Run(t, base(api.ElectionPlain, slow), 500, 1))
	guarded := sum(Run(t, base(api.ElectionGuarded, slow), 500, 1))
	if guarded.wiped != 0 {
		t.Errorf("guarded wiped %d leases of its successor", guarded.wiped)
	}
	if plain.wiped < plain.n/4 {
		t.Errorf("plain wiped %d leases in %d trials, want it often: has client-go changed? See TestUpstream_TheOldLeaderWipesTheSuccessorsLease", plain.wiped, plain.n)
	}
}

func TestLostOrStolen_GuardedStopsAtItsNextRenewal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		election string
		kind     Kind
		longest  time.Duration
	}{
		{api.ElectionPlain, Steal, api.Default().RetryPeriod + api.Default().RenewDeadline},
		{api.ElectionGuarded, Steal, api.Default().RetryPeriod},
		{api.ElectionGuarded, Delete, api.Default().RetryPeriod},
	} {
		got := sum(Run(t, base(c.election, func(s *Scenario) { s.Fault = Fault{Kind: c.kind} }), 300, 1))
		if got.worked > c.longest+100*time.Millisecond || got.worked < c.longest-100*time.Millisecond {
			t.Errorf("%s, %s: worked for up to %s after the last renewal, want %s", c.election, c.kind, got.worked, c.longest)
		}
	}
}

// Constant offsets do nothing. A leader whose clock is slow believes longer than the others wait: client-go's ratio is
// LD/(RD + RP) = 1.25, that of the guarded election LD/RD = 1.5.
func TestDrift_TheToleratedRatioOfClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		election string
		ratio    float64
		overlaps bool
	}{
		{api.ElectionPlain, 1.1, false}, {api.ElectionPlain, 1.2, false}, {api.ElectionPlain, 1.4, true}, {api.ElectionPlain, 1.5, true},
		{api.ElectionGuarded, 1.2, false}, {api.ElectionGuarded, 1.4, false}, {api.ElectionGuarded, 1.8, true},
	} {
		got := sum(Run(t, base(c.election, func(s *Scenario) {
			s.ReleaseOnCancel, s.Standbys, s.Fault = false, 5, Fault{Kind: Drift, Rate: 1 / c.ratio}
		}), 150, 1))
		if (got.overlaps > 0) != c.overlaps {
			t.Errorf("%s, ratio %g: got %d overlaps of %d, want some: %t", c.election, c.ratio, got.overlaps, got.n, c.overlaps)
		}
	}
}

func TestRun_OneSeedGivesIdenticalResults(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, election := range api.ContendedElections() {
		s := base(election, func(s *Scenario) { s.Standbys, s.Fault = 2, Fault{Kind: Cut} })
		one, two, other := Run(t, s, 50, 7), Run(t, s, 50, 7), Run(t, s, 50, 777)
		if !reflect.DeepEqual(one, two) {
			t.Errorf("%s: one seed gave two results", election)
		}
		if reflect.DeepEqual(one, other) {
			t.Errorf("%s: another seed gave the same results", election)
		}
	}
}

func TestSimulate_GivesAProgramTheSameResults(t *testing.T) {
	batches := []Batch{
		{Scenario: base(api.ElectionPlain, func(s *Scenario) { s.Fault = Fault{Kind: Cut} }), N: 20, Seed: 7},
		{Scenario: base(api.ElectionGuarded, func(s *Scenario) { s.Fault = Fault{Kind: Freeze, For: 20 * time.Second} }), N: 20, Seed: 7},
	}
	one, err := Simulate(t.Context(), batches)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Simulate(t.Context(), batches)
	if err != nil || !reflect.DeepEqual(one, two) || len(one) != 2 || len(one[0]) != 20 {
		t.Errorf("got %d batches, twice the same %t, %v", len(one), reflect.DeepEqual(one, two), err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if here := Run(t, batches[0].Scenario, batches[0].N, batches[0].Seed); !reflect.DeepEqual(here, one[0]) {
		t.Error("a program gets other results than a test")
	}
}
