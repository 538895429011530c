package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/api"
)

// What the faults are made of.
const (
	lingering  = 6 * time.Second  // how long the work of release-first takes to stop, and the one of standby-works lasts
	ahead      = 20 * time.Second // how far the reader's clock of wall-clock is ahead of the writer's
	everlast   = 1 << 30          // leaseDurationSeconds that for-life reads
	reconciles = 200              // at a time, in shared-limiter
)

// contend runs the mutant's election until the process is to end.
func (r replica) contend(ctx context.Context) {
	switch r.options.mutant {
	case api.MutantReleaseFirst:
		r.releaseFirst(ctx)
	case api.MutantLivesOn:
		r.plain(ctx, func(led context.Context) { r.worker.Lead(context.WithoutCancel(led)) }, func(int) { forever() })
	case api.MutantWorksOn:
		r.workThenExit(ctx, func(led context.Context) { r.worker.Lead(ctx) })
	case api.MutantStopSkipped:
		for ctx.Err() == nil {
			r.plain(ctx, func(context.Context) { r.worker.Lead(ctx) }, func(int) {}) // and contends again
		}
		r.exit(api.ExitStopped)
	case api.MutantOneShot:
		r.plain(ctx, r.worker.Lead, r.exitIfAsked(ctx))
	case api.MutantStandbyWorks:
		r.standbyWorks(ctx)
	case api.MutantFractional:
		r.options.lock.Timing = api.Timing{LeaseDuration: 1500 * time.Millisecond, RenewDeadline: 1200 * time.Millisecond, RetryPeriod: 400 * time.Millisecond}
		r.plain(ctx, r.worker.Lead, r.exit)
	case api.MutantSharedLimiter:
		r.plain(ctx, r.crowd, r.exit)
	case api.MutantNoDurations:
		r.options.lock.Timing = api.Timing{}
		r.plain(ctx, r.worker.Lead, r.exit)
	case api.MutantWallClock:
		r.plain(ctx, r.worker.Lead, r.exit)
	default: // the fault is in the client or in the probes
		r.guarded(ctx)
	}
}

// exitIfAsked exits only if the process was asked to stop; after a loss it stays as it is.
func (r replica) exitIfAsked(ctx context.Context) func(int) {
	return func(code int) {
		if ctx.Err() == nil {
			<-ctx.Done()
		}
		r.exit(code)
	}
}

// workThenExit is the course's election with an exit that waits for the work: a process with work that does not stop stays.
func (r replica) workThenExit(ctx context.Context, work func(context.Context)) {
	var working sync.WaitGroup
	r.plain(ctx, func(led context.Context) {
		working.Add(1)
		defer working.Done()
		work(led)
	}, func(code int) {
		working.Wait()
		r.exit(code)
	})
}

// releaseFirst is kubernetes#139991: ReleaseOnCancel, and work that takes a while to stop. The process waits for it, and has
// released before.
func (r replica) releaseFirst(ctx context.Context) {
	r.workThenExit(ctx, func(led context.Context) {
		slow, stop := context.WithCancel(context.WithoutCancel(led))
		context.AfterFunc(led, func() { time.AfterFunc(lingering, stop) })
		r.worker.Lead(slow)
	})
}

// standbyWorks is controller-runtime#2719: what waits for leadership is let go by the end of the process too.
func (r replica) standbyWorks(ctx context.Context) {
	var led sync.Once
	r.plain(ctx, func(ctx context.Context) {
		led.Do(func() {})
		r.worker.Lead(ctx)
	}, func(code int) {
		led.Do(func() {
			begun, stop := context.WithTimeout(context.WithoutCancel(ctx), lingering/3)
			defer stop()
			r.worker.Lead(begun)
		})
		r.exit(code)
	})
}

// crowd is kueue#15537: many reconciles at once, each with requests, and one rate limiter for them and the renewals.
func (r replica) crowd(led context.Context) {
	var all sync.WaitGroup
	for range reconciles {
		all.Go(func() {
			for led.Err() == nil {
				_, _ = r.clients.work.core.ConfigMaps(r.options.namespace).Get(led, api.DefaultWork, metav1.GetOptions{})
			}
		})
	}
	r.worker.Lead(led)
	all.Wait()
}

// misread changes what was read of the Lease into what the mutant takes it for.
func misread(mutant, identity string, lease *coordination.Lease, now time.Time) {
	if holder := holderOf(lease); holder == "" || holder == identity || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return
	}
	switch mutant {
	case api.MutantWallClock: // talon#165: the age is the reader's clock less the writer's
		if now.Add(ahead).Sub(lease.Spec.RenewTime.Time) > time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second {
			lease.Spec.HolderIdentity = new(string)
		}
	case api.MutantForLife: // operator-sdk#1305: a lock ends with its pod, and not with its renewals
		*lease.Spec.LeaseDurationSeconds = everlast
	}
}

// answerIfLeading is plugin-barman-cloud#419: ready is who leads.
func (r replica) answerIfLeading(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", r.options.address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", r.options.address, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !r.worker.Leading() {
			http.Error(w, "not leading", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // until the process ends
	return nil
}
