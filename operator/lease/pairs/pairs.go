// Package pairs owns the in-process measurement: many pairs of real client-go candidates, each pair on a Lease of its own, each
// candidate with a client and a connection of its own, of which one loses its leader. It measures; it does not judge.
package pairs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"academy.example/lab/operator/api"
)

// Label marks the Leases, so that what a killed run left is found.
const Label = "academy.example/trials"

// Config is what is measured.
type Config struct {
	// REST is the cluster's administrator; its rate limits are not used.
	REST      *rest.Config
	Namespace string // where the Leases are made; it must be there
	Timing    api.Timing
	// Release is whether the leader is asked to stop and releases; else it is cut off from the API server at once and for good.
	Release bool
	// Pairs are measured by this process, from number First on, from 0: a pair has the same Lease, and draws the same moments,
	// whoever measures it.
	Pairs, First int
	Seed         uint64
	// Done is told of each trial as it ends; it may be nil, and is called by several goroutines.
	Done func(Trial)
}

// Trial is what one pair showed. Durations are in seconds, by this process's monotonic clock.
type Trial struct {
	Pair int `json:"pair"` // from 1
	// GapSeconds is from the leader's end, or from the answer to its release, to the answer to the standby's write.
	GapSeconds        float64   `json:"gapSeconds"`
	PhaseSeconds      float64   `json:"phaseSeconds"`      // the random wait before the fault
	RenewEverySeconds float64   `json:"renewEverySeconds"` // median pause between the leader's renewals
	LeaseSeconds      int       `json:"leaseSeconds"`      // leaseDurationSeconds, as written
	SlowestSeconds    float64   `json:"slowestSeconds"`    // the slowest request of either
	Refused           int       `json:"refused"`           // requests answered 429
	WallT0            time.Time `json:"wallT0"`
	Failed            string    `json:"failed,omitempty"` // why there is no gap
}

// Share is which pairs the shard with an index, from 0, measures of all.
func Share(pairs, shards, index int) (first, n int) {
	first = index * pairs / shards
	return first, (index+1)*pairs/shards - first
}

// Run measures all pairs at once. A pair that fails says so in its trial. The Leases are left for Sweep.
func Run(ctx context.Context, c Config) ([]Trial, error) {
	trials := make([]Trial, c.Pairs)
	var running sync.WaitGroup
	for i := range trials {
		running.Go(func() {
			trials[i] = c.measure(ctx, c.First+i)
			if c.Done != nil {
				c.Done(trials[i])
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return trials, ctx.Err()
	}
	return trials, nil
}

// Sweep removes every Lease of runs in a namespace, also what a killed run left.
func Sweep(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return err
	}
	return client.Leases(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: Label})
}

// measure does one trial.
func (c Config) measure(ctx context.Context, n int) Trial {
	t := Trial{Pair: n + 1}
	if err := c.play(ctx, &t, rand.New(rand.NewPCG(c.Seed, uint64(n)))); err != nil {
		t.Failed = err.Error()
	}
	return t
}

// play brings the pair up, takes its leader away and waits for the standby.
func (c Config) play(ctx context.Context, t *Trial, random *rand.Rand) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	pause(ctx, time.Duration(random.Float64()*float64(c.Timing.RetryPeriod))) // so that a hundred do not begin at once
	name := fmt.Sprintf("academy-trial-%03d", t.Pair)
	leader, err := c.candidate(name, "a", c.Release)
	if err != nil {
		return err
	}
	standby, err := c.candidate(name, "b", false)
	if err != nil {
		return err
	}
	leading, stopLeader := context.WithCancel(ctx)
	defer stopLeader()
	running.Go(func() { leader.run(leading) })
	if err := leader.wait(ctx, leader.wrote, c.limit()); err != nil {
		return err
	}
	running.Go(func() { standby.run(ctx) })
	if err := standby.wait(ctx, standby.polledTwice, c.limit()); err != nil {
		return err
	}
	// The standby's poll just now would otherwise decide when the fault falls: a longest pause, of 2.2 RetryPeriods, is waited
	// out, and a random while.
	phase := time.Duration(3 * random.Float64() * float64(c.Timing.RetryPeriod))
	t.PhaseSeconds = phase.Seconds()
	pause(ctx, 22*c.Timing.RetryPeriod/10+phase)
	t.WallT0 = time.Now()
	if c.Release {
		stopLeader()
	} else {
		leader.cut()
	}
	return c.conclude(t, leader, standby, standby.wait(ctx, standby.wrote, c.limit()))
}

// limit is how long anything is waited for.
func (c Config) limit() time.Duration {
	return c.Timing.LeaseDuration + 6*c.Timing.RetryPeriod + 20*time.Second
}

// conclude reads the figures; failed is why there is no takeover.
func (c Config) conclude(t *Trial, leader, standby *candidate, failed error) error {
	t.RenewEverySeconds, t.LeaseSeconds = leader.renewEvery(), int(c.Timing.LeaseDuration/time.Second)
	for _, side := range []*candidate{leader, standby} {
		slowest, refused := side.trouble()
		t.SlowestSeconds, t.Refused = max(t.SlowestSeconds, slowest.Seconds()), t.Refused+refused
	}
	if failed != nil {
		return failed
	}
	from := t.WallT0
	if c.Release {
		released, ok := leader.lastWrite()
		if !ok || released.Before(t.WallT0) {
			return errors.New("the leader did not release")
		}
		from = released
	}
	taken, _ := standby.firstWrite()
	if t.GapSeconds = taken.Sub(from).Seconds(); t.GapSeconds < 0 {
		return errors.New("the standby led before the leader was gone")
	}
	return nil
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
