package election_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

// guardedRun is one call of WithLease in its own goroutine.
type guardedRun struct {
	client  *electiontest.Client
	log     *electiontest.Lines
	stop    context.CancelFunc
	started chan context.Context
	stopped chan time.Time // when the work's context ended
	ended   chan error     // what WithLease returned
}

// option changes the election before it begins.
type option func(*election.Guarded)

func without(off func(*api.Guards)) option { return func(g *election.Guarded) { off(&g.Guards) } }

// guard starts a candidate whose work waits for the end of its context, and then for as long as dawdle.
func guard(t *testing.T, store *electiontest.Store, identity string, dawdle time.Duration, options ...option) *guardedRun {
	t.Helper()
	r := &guardedRun{started: make(chan context.Context, 9), stopped: make(chan time.Time, 9)}
	return r.with(t, store, identity, options, election.Controller{Name: "work", Run: func(ctx context.Context) error {
		r.started <- ctx
		<-ctx.Done()
		r.stopped <- time.Now()
		time.Sleep(dawdle)
		return nil
	}})
}

func (r *guardedRun) with(t *testing.T, store *electiontest.Store, identity string, options []option, work ...election.Controller) *guardedRun {
	ctx, cancel := context.WithCancel(t.Context())
	r.client, r.log, r.stop, r.ended = store.Client(), new(electiontest.Lines), cancel, make(chan error, 1)
	g := election.Guarded{
		Config: election.Config{Namespace: namespace, Name: name, Identity: identity, Timing: api.Default(), ReleaseOnCancel: true},
		Guards: api.AllGuards(), Client: r.client, Log: slog.New(slog.NewJSONHandler(r.log, nil)),
	}
	for _, o := range options {
		o(&g)
	}
	go func() { r.ended <- election.WithLease(ctx, g, work...) }()
	return r
}

// halfway sleeps until n renewals and a half have passed since the leader began.
func halfway(n int) time.Time {
	time.Sleep(time.Duration(n)*api.Default().RetryPeriod + api.Default().RetryPeriod/2)
	return time.Now()
}

func holder(store *electiontest.Store) string {
	return *store.Lease(namespace, name).Spec.HolderIdentity
}
