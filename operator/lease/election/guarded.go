package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"

	"academy.example/lab/operator/api"
)

// Guarded is the election that the operator ships: the elector and the lock of plain.go, with a protection around each of
// their weak points. WithLease runs it; docs/election.md tells what each protection is for and what it costs.
type Guarded struct {
	Config

	// Guards turns the protections on. Fence is the work's business; Token tells it the number.
	Guards api.Guards

	// Client reads and writes the Lease. It should be used for nothing else, so that busy work never makes a renewal wait
	// in a shared rate limiter.
	Client coordinationv1.LeasesGetter

	// Log takes one line for each change of belief.
	Log *slog.Logger

	// AfterFunc is time.AfterFunc if nil. The simulator gives one that stands still with its process.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

// Controller is work that only the leader may do.
type Controller struct {
	// Name tells it apart in the log.
	Name string
	// Check reports what is wrong with its configuration; may be nil. It is asked before the election begins, so that a
	// mistake shows at start and not at the first leadership, perhaps weeks later.
	Check func() error
	// Run works until its context ends and then returns soon. It should ask ctx.Err(), or May where the context was
	// derived further, before each write: both look at the clock, so they tell the truth even before the timer has fired.
	Run func(ctx context.Context) error
}

// Limits of the steps that follow a request to stop. With what the process does afterwards they stay below 15 s.
const (
	StopLimit    = 4 * time.Second // for the work to return after its context has ended
	ReleaseLimit = 4 * time.Second // for the two requests of a release
)

// ErrLost is what WithLease returns when leadership was lost; its text names the reason.
var ErrLost = errors.New("lost leadership")

// ErrStuck is what WithLease returns when work did not return within StopLimit. The Lease was not released, and the process
// must end: it may still be working.
var ErrStuck = errors.New("work did not stop")

// RequestTimeout is how long one request of the guarded election for the Lease may take: LeaseDuration − RenewDeadline − 1 s.
// A write that is stuck in the network for longer than LeaseDuration − RenewDeadline could otherwise arrive when the next
// leader already works. It is at least 1 s for every timing that Validate accepts.
func RequestTimeout(t api.Timing) time.Duration {
	return t.LeaseDuration - t.RenewDeadline - time.Second
}

// WithLease contends for the Lease, runs all the work while it is held, and renews it meanwhile. One Lease thus guards
// several controllers, which can never be spread over replicas. It returns when none of the work runs any more:
//
//	nil          all work ended by itself; the Lease is released
//	another      the first error of the work, which ended the rest; released as well
//	ErrLost      leadership was lost; the work was told to stop and has. Call it again to rejoin, or exit
//	ErrStuck     work goes on although it was told to stop: exit
//	ctx's cause  asked to stop; released if Config says so
//
// Problems of the configuration and of the work's own are returned at once, all joined.
func WithLease(ctx context.Context, g Guarded, work ...Controller) error {
	if err := g.check(work); err != nil {
		return err
	}
	leave, err := claim(g)
	if err != nil {
		return err
	}
	defer leave()
	return g.contend(ctx, work)
}

// check returns every problem of the configuration and of the work, joined.
func (g Guarded) check(work []Controller) error {
	problems := []error{g.Validate()}
	if len(work) == 0 {
		problems = append(problems, api.Problem{What: "there is no work to guard", Hint: "give WithLease at least one Controller"})
	}
	for _, c := range work {
		if c.Check == nil {
			continue
		}
		if err := c.Check(); err != nil {
			problems = append(problems, fmt.Errorf("controller %s: %w", c.Name, err))
		}
	}
	return errors.Join(problems...)
}

// contend is one candidacy, from the first attempt to the end of the leadership that came of it.
func (g Guarded) contend(ctx context.Context, work []Controller) error {
	elect, resign := context.WithCancel(Narrate(ctx, g.Log))
	defer resign()
	lock := newLock(g, func(number int64) *term { return newTerm(ctx, g, number, resign) })

	leaderelection.RunOrDie(elect, leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: g.Timing.LeaseDuration,
		RenewDeadline: g.Timing.RenewDeadline,
		RetryPeriod:   g.Timing.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(led context.Context) { lock.term.Load().lead(led, work) },
			OnStoppedLeading: func() {}, // everything is done below, in order
		},
		ReleaseOnCancel: g.ReleaseOnCancel && !g.Guards.Release,
		Name:            g.Name,
	})

	t := lock.term.Load()
	if t == nil {
		return context.Cause(ctx) // asked to stop as a standby
	}
	return g.conclude(ctx, t, lock, work)
}

// conclude ends a leadership in this order: the work stops, the Lease is released, the caller hears why.
func (g Guarded) conclude(ctx context.Context, t *term, lock *guardedLock, work []Controller) error {
	t.end(errNotRenewed) // unless it has ended for a reason of its own
	if !t.stopped(StopLimit) {
		g.Log.Error(api.MessageStuck, api.KeyControllers, names(work))
		return ErrStuck
	}
	reason := context.Cause(t)
	lost := ctx.Err() == nil && !errors.Is(reason, errDone)
	if lost {
		g.Log.Warn(api.MessageLost, api.KeyReason, reason.Error(), api.KeyControllers, names(work))
	}
	if t.started {
		g.Log.Info(api.MessageStoppedLead)
	}
	switch {
	case lost:
		// Nothing is released: whose the Lease is by now, the next one to read it will see.
		return fmt.Errorf("%w: %w", ErrLost, reason)
	case g.ReleaseOnCancel && g.Guards.Release:
		g.release(lock)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.result
}

func names(work []Controller) []string {
	all := make([]string, len(work))
	for i, c := range work {
		all[i] = c.Name
	}
	return all
}
