package election

import (
	"context"
	"log/slog"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"academy.example/lab/operator/api"
)

// Plain is leader election as the course writes it: client-go's RunOrDie around one LeaseLock, and nothing else.
//
// How a candidate decides, so that the log below makes sense. The holder rewrites the Lease every RetryPeriod. A standby
// reads it every 1 to 2.2 RetryPeriods and notes, on its own clock, when it last saw the record change. It may take the
// lease when the holder is empty, or when it saw no change for LeaseDuration. It never subtracts the holder's renewTime
// from its own time, so the two clocks need not agree; they only need to run at about the same rate.
//
// What this recipe does not do. It does not fence: between the moment a standby may take over and the moment this
// process notices, both may work. Where that window opens, and how wide, is what the exercises measure.
type Plain struct {
	Config Config

	// Client reads and writes the Lease. The course builds it from the cluster's configuration as it is: without a
	// request time-out, so one request into a network that drops packets may hang until a deadline around it ends it.
	Client coordinationv1.LeasesGetter

	// Work is everything that only a leader may do. It must return soon after its context is cancelled.
	Work func(ctx context.Context)

	// Exit ends the process: os.Exit in the operator. The code is api.ExitStopped or api.ExitLost.
	Exit func(code int)

	// Log takes one line for each change of belief.
	Log *slog.Logger
}

// Run contends for the Lease until ctx is cancelled or leadership is lost, then calls Exit.
// It panics on what client-go refuses; Config.Validate refuses more, and says why.
func (p Plain) Run(ctx context.Context) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: p.Config.Namespace, Name: p.Config.Name},
		Client:    p.Client,
		// The identity is the pod's name, which the downward API puts into POD_NAME.
		LockConfig: resourcelock.ResourceLockConfig{Identity: p.Config.Identity},
	}
	var led atomic.Bool

	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock,

		// All three durations are written out because client-go has no defaults: the 15s, 10s and 2s in its comments
		// are what Kubernetes' own components pass. A zero here is a panic, not a default.
		LeaseDuration: p.Config.Timing.LeaseDuration, // a standby waits this long after the last change it saw
		RenewDeadline: p.Config.Timing.RenewDeadline, // the leader gives up after failing to renew for this long
		RetryPeriod:   p.Config.Timing.RetryPeriod,   // the wait between two attempts of either

		Callbacks: leaderelection.LeaderCallbacks{
			// First rule: every worker stops when this context is cancelled. One that ignores it goes on reconciling
			// after the lease is gone, beside the next leader: the state this mechanism exists to prevent.
			OnStartedLeading: func(ctx context.Context) {
				led.Store(true)
				p.Log.Info(api.MessageStartedLead)
				p.Work(ctx)
			},

			// Second rule: a log line and an exit. By the time this runs another process may be leading already, so
			// whatever one would like to tidy up may by now be somebody else's.
			OnStoppedLeading: func() {
				// client-go calls this for every candidate that ends, also for one that never led.
				if led.Load() {
					p.Log.Info(api.MessageStoppedLead)
				}
				if ctx.Err() != nil {
					p.Exit(api.ExitStopped) // asked to stop; by the third rule the lease was handed back, if the API server took it
					return
				}
				p.Exit(api.ExitLost) // the kubelet restarts the container, which contends afresh
			},
		},

		// Third rule: a clean shutdown hands the lease back. One more write, with an empty holder, and the standby
		// takes over at its next attempt: about two seconds, where an expiry takes about seventeen. This one field
		// is the difference on every rolling update.
		ReleaseOnCancel: p.Config.ReleaseOnCancel,

		Name: p.Config.Name, // the label of client-go's leader_election metrics
	})
}
