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
	"k8s.io/client-go/kubernetes"
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
	Pairs   int
	Seed    uint64
	// Pause is waited out before the random wait: the longest one between two polls of a standby.
	Pause time.Duration
	// Done is told of each trial as it ends; it may be nil, and is called by several goroutines.
	Done func(Trial)
}

// Trial is what one pair showed. Durations are in seconds, by this process's monotonic clock.
type Trial struct {
	Pair int
	// GapSeconds is from the leader's end, or from the answer to its release, to the answer to the standby's write.
	GapSeconds        float64
	PhaseSeconds      float64 // the random wait before the fault
	RenewEverySeconds float64 // median pause between the leader's renewals
	LeaseSeconds      int     // leaseDurationSeconds, as written
	SlowestSeconds    float64 // the slowest request of either
	Refused           int     // requests answered 429
	WallT0            time.Time
	Err               error // why there is no gap
}

// Run measures all pairs at once and removes their Leases. It fails if nothing could be measured; a pair that fails says so
// in its trial.
func Run(ctx context.Context, c Config) ([]Trial, error) {
	client, err := kubernetes.NewForConfig(c.REST)
	if err != nil {
		return nil, err
	}
	if err := sweep(ctx, client, c.Namespace); err != nil {
		return nil, fmt.Errorf("remove what an earlier run left: %w", err)
	}
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		err = errors.Join(err, sweep(removing, client, c.Namespace))
	}()
	trials := make([]Trial, c.Pairs)
	var running sync.WaitGroup
	for i := range trials {
		running.Go(func() {
			trials[i] = c.measure(ctx, i)
			if c.Done != nil {
				c.Done(trials[i])
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return trials, ctx.Err()
	}
	return trials, err
}

// sweep removes every Lease of a run.
func sweep(ctx context.Context, client kubernetes.Interface, namespace string) error {
	return client.CoordinationV1().Leases(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: Label})
}

// measure does one trial.
func (c Config) measure(ctx context.Context, n int) Trial {
	random := rand.New(rand.NewPCG(c.Seed, uint64(n)))
	t := Trial{Pair: n + 1}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	pause(ctx, time.Duration(random.Float64()*float64(c.Timing.RetryPeriod))) // so that a hundred do not begin at once
	name := fmt.Sprintf("academy-trial-%03d", n+1)
	leader, err := c.candidate(name, "a", c.Release)
	if err != nil {
		t.Err = err
		return t
	}
	standby, err := c.candidate(name, "b", false)
	if err != nil {
		t.Err = err
		return t
	}
	leading, stopLeader := context.WithCancel(ctx)
	defer stopLeader()
	running.Go(func() { leader.run(leading) })
	if t.Err = leader.wait(ctx, leader.wrote, c.limit()); t.Err != nil {
		return t
	}
	running.Go(func() { standby.run(ctx) })
	if t.Err = standby.wait(ctx, standby.polledTwice, c.limit()); t.Err != nil {
		return t
	}
	// The standby's poll just now would otherwise decide when the fault falls: one pause is waited out, and a random while.
	phase := time.Duration(3 * random.Float64() * float64(c.Timing.RetryPeriod))
	t.PhaseSeconds = phase.Seconds()
	pause(ctx, c.Pause+phase)
	t.WallT0 = time.Now()
	if c.Release {
		stopLeader()
	} else {
		leader.cut()
	}
	t.Err = standby.wait(ctx, standby.wrote, c.limit())
	c.conclude(&t, leader, standby)
	return t
}

// limit is how long anything is waited for.
func (c Config) limit() time.Duration {
	return c.Timing.LeaseDuration + 6*c.Timing.RetryPeriod + 20*time.Second
}

// conclude reads the figures.
func (c Config) conclude(t *Trial, leader, standby *candidate) {
	t.RenewEverySeconds, t.LeaseSeconds = leader.renewEvery(), int(c.Timing.LeaseDuration/time.Second)
	for _, side := range []*candidate{leader, standby} {
		slowest, refused := side.trouble()
		t.SlowestSeconds, t.Refused = max(t.SlowestSeconds, slowest.Seconds()), t.Refused+refused
	}
	if t.Err != nil {
		return
	}
	from := t.WallT0
	if c.Release {
		released, ok := leader.lastWrite()
		if !ok || released.Before(t.WallT0) {
			t.Err = errors.New("the leader did not release")
			return
		}
		from = released
	}
	taken, _ := standby.firstWrite()
	t.GapSeconds = taken.Sub(from).Seconds()
	if t.GapSeconds < 0 {
		t.Err = errors.New("the standby led before the leader was gone")
	}
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
