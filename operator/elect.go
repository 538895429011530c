package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/internal/serve"
	"academy.example/lab/operator/internal/work"
	"academy.example/lab/operator/lease/election"
)

// What follows a SIGTERM under the guarded election: stop the work, release the Lease, answer webhook calls for a while,
// drain, exit. Each step has a limit of its own, so that an API server that never answers can't use up the time of the
// steps behind it: 4 + 4 + 2 + 4 s. The sum is limited once more, for what nobody thought of.
const (
	acceptPause   = 2 * time.Second // how long Kubernetes may take to send webhook calls elsewhere
	drainLimit    = 4 * time.Second
	shutdownLimit = 15 * time.Second
)

// replica is one running operator.
type replica struct {
	options options
	clients clients
	worker  *work.Worker
	server  *serve.Server
	log     *slog.Logger
	exit    func(code int)
}

// runPlain runs the course's recipe.
func (r replica) runPlain(ctx context.Context) {
	election.Plain{
		Config: r.options.lock,
		Client: r.clients.lock.coordination,
		Work:   r.worker.Lead,
		Log:    r.log,
		Exit:   r.exitPlain,
	}.Run(election.Narrate(ctx, r.log))
}

// runCoordinated is a candidate of whom the API server elects one.
func (r replica) runCoordinated(ctx context.Context) error {
	return election.Coordinated{
		Config:       r.options.lock,
		Coordination: r.options.coordination,
		Client:       r.clients.candidate,
		Work:         r.worker.Lead,
		Log:          r.log,
		Exit:         r.exitPlain,
	}.Run(ctx)
}

// exitPlain ends the process after an election that does nothing else after its end.
func (r replica) exitPlain(code int) {
	if code == api.ExitStopped && r.options.lock.ReleaseOnCancel {
		r.server.Shutdown() // nobody waits for the lease any more, so answers under way may finish
	}
	r.exit(code)
}

// runGuarded contends until the replica is asked to stop, or until a loss if it is to exit then.
func (r replica) runGuarded(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(shutdownLimit, func() {
			r.log.Error("shutdown took too long", "limit", shutdownLimit.String())
			r.exit(api.ExitStopped)
		})
	})
	guarded := election.Guarded{Config: r.options.lock, Guards: r.options.guards, Client: r.clients.lock.coordination, Log: r.log}
	workers := election.Controller{Name: "work", Run: func(ctx context.Context) error {
		r.worker.Lead(ctx)
		return nil
	}}
	for {
		err := election.WithLease(ctx, guarded, workers)
		switch {
		case ctx.Err() != nil:
			r.log.Info(api.MessageDraining)
			r.server.Drain(acceptPause, drainLimit)
			r.exit(api.ExitStopped)
			return
		case errors.Is(err, election.ErrLost) && r.options.onLoss == api.OnLossRejoin:
			r.log.Info(api.MessageRejoining)
		default:
			if !errors.Is(err, election.ErrLost) && !errors.Is(err, election.ErrStuck) { // those are told already
				r.log.Error(api.MessageLost, api.KeyReason, fmt.Sprint(err))
			}
			// the kubelet restarts the container, which contends afresh
			r.exit(api.ExitLost)
			return
		}
	}
}
