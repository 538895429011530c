package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"academy.example/lab/operator/api"
)

// Coordinated is coordinated leader election (KEP-4355), as Kubernetes' own components do it: the candidate says in a
// LeaseCandidate which version it is, and never takes the Lease. A controller in the API server elects, and writes the name of
// the winner into the Lease; the elector renews a Lease that names it.
//
// What is different for the leader. Its term ends when the API server names a preferred holder: it stops to renew, and leads on
// until RenewDeadline later. And the API server compares renewTime with its own clock, so the two clocks must agree.
type Coordinated struct {
	Config
	// Coordination is what the candidate says of itself. All replicas of one version should say the same.
	Coordination api.Coordination

	// Client reads and writes the Lease and the LeaseCandidate.
	Client kubernetes.Interface

	// Work is everything that only a leader may do. It must return soon after its context is cancelled.
	Work func(ctx context.Context)

	// Exit ends the process: os.Exit in the operator. The code is api.ExitStopped or api.ExitLost.
	Exit func(code int)

	// Log takes one line for each change of belief.
	Log *slog.Logger
}

// Run is a candidate until ctx is cancelled or leadership is lost, then it calls Exit. An error means that it never was one: an
// api.Problem if the API server does not coordinate elections. An API server that does not answer is waited for.
func (c Coordinated) Run(ctx context.Context) error {
	if err := errors.Join(c.Validate(), c.Coordination.Validate()); err != nil {
		return err
	}
	ctx = Narrate(ctx, c.Log)
	if err := c.await(ctx); err != nil {
		return err
	}
	// The name of the candidate must be the identity of the lock: it is what the API server writes as holder.
	candidate, _, err := leaderelection.NewCandidate(c.Client, c.Namespace, c.Identity, c.Name,
		c.Coordination.BinaryVersion, c.Coordination.EmulationVersion, coordinationv1.CoordinatedLeaseStrategy(c.Coordination.Strategy))
	if err != nil {
		return fmt.Errorf("make the LeaseCandidate: %w", err)
	}
	// It ends with ctx, as the elector does: one that answered the API server's ping while the Lease is being released could be
	// elected again.
	go candidate.Run(ctx)
	c.contend(ctx)
	return nil
}

// contend renews the Lease whenever it names this candidate.
func (c Coordinated) contend(ctx context.Context) {
	var led atomic.Bool
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
			Client:     c.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
		},
		LeaseDuration: c.Timing.LeaseDuration,
		RenewDeadline: c.Timing.RenewDeadline,
		RetryPeriod:   c.Timing.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				led.Store(true)
				c.Log.Info(api.MessageStartedLead)
				c.Work(ctx)
			},
			OnStoppedLeading: func() {
				if led.Load() {
					c.Log.Info(api.MessageStoppedLead)
				}
				if ctx.Err() != nil {
					c.Exit(api.ExitStopped)
					return
				}
				c.Exit(api.ExitLost)
			},
		},
		ReleaseOnCancel: c.ReleaseOnCancel,
		Name:            c.Name,
		Coordinated:     true,
	})
}

// await returns nil once the API server has said that it coordinates elections.
func (c Coordinated) await(ctx context.Context) error {
	for {
		err := Coordinates(ctx, c.Client, c.Namespace, c.Identity)
		var problem api.Problem
		if err == nil || errors.As(err, &problem) {
			return err
		}
		c.Log.Warn(api.MessageLeaseRequest, api.KeyRequest, "discovery", api.KeyError, err.Error())
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(c.Timing.RetryPeriod):
		}
	}
}

// Coordinates returns nil if the API server coordinates elections, an api.Problem if it does not, and another error if it could
// not be asked. It writes nothing: that the field strategy is kept is seen in a dry run. probe names the Lease of that dry run.
func Coordinates(ctx context.Context, client kubernetes.Interface, namespace, probe string) error {
	const hint = "start the API server with " + api.CoordinationFlags + ", or use --" + api.FlagElection + "=" + api.ElectionGuarded
	served, err := client.Discovery().ServerResourcesForGroupVersion(api.CoordinationVersion)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ask what the API server serves: %w", err)
	}
	if err != nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == api.CandidateResource }) {
		return api.Problem{What: "the API server serves no " + api.CandidateResource + " of " + api.CoordinationVersion + ", which --" + api.FlagElection + "=" + api.ElectionCoordinated + " needs", Hint: hint}
	}
	strategy, holder, seconds := coordinationv1.OldestEmulationVersion, probe, int32(1)
	asked := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: namespace},
		Spec: coordinationv1.LeaseSpec{Strategy: &strategy, HolderIdentity: &holder, LeaseDurationSeconds: &seconds}}
	kept, err := client.CoordinationV1().Leases(namespace).Create(ctx, asked, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("try the field strategy of a Lease: %w", err)
	}
	if kept.Spec.Strategy == nil {
		return api.Problem{What: "the API server drops the field strategy of a Lease: its feature gate " + api.CoordinationGate + " is off", Hint: hint}
	}
	return nil
}
