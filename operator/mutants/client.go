package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	coordination "k8s.io/api/coordination/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"academy.example/lab/operator/api"
)

// group is one client with its own rate limit.
type group struct {
	core         corev1.CoreV1Interface
	coordination coordinationv1.CoordinationV1Interface
}

// clients are the Lease's and the work's.
type clients struct{ lock, work group }

// connect makes the clients as the operator does. It sends no request.
func connect(o options) (clients, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig) // "" is the pod's service account
	if err != nil {
		return clients{}, api.Problem{What: fmt.Sprintf("find the API server: %v", err), Hint: "--" + api.FlagKubeconfig + "=FILE"}
	}
	work := rest.CopyConfig(config)
	work.QPS, work.Burst = 100, 200
	config.UserAgent, work.UserAgent = api.MutantProgram+"/lock", api.MutantProgram+"/work"
	if o.mutant == api.MutantSharedLimiter {
		work.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(5, 10) // client-go's own numbers, and one for every client made of this
	}
	var c clients
	if c.work, err = newGroup(work); err != nil {
		return c, err
	}
	if o.mutant == api.MutantSharedLimiter {
		c.lock = c.work
		return c, nil
	}
	c.lock, err = newGroup(config)
	c.lock.coordination = faulty{c.lock.coordination, o}
	return c, err
}

func newGroup(config *rest.Config) (group, error) {
	core, err := corev1.NewForConfig(config)
	if err != nil {
		return group{}, fmt.Errorf("make client: %w", err)
	}
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return group{}, fmt.Errorf("make client: %w", err)
	}
	return group{core, leases}, nil
}

// faulty is a client whose Leases read or write wrongly, as the mutant does.
type faulty struct {
	coordinationv1.CoordinationV1Interface
	options options
}

func (f faulty) Leases(namespace string) coordinationv1.LeaseInterface {
	return faultyLeases{f.CoordinationV1Interface.Leases(namespace), f.options}
}

type faultyLeases struct {
	coordinationv1.LeaseInterface
	options options
}

// Get reads the Lease as the mutant sees it.
func (f faultyLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordination.Lease, error) {
	lease, err := f.LeaseInterface.Get(ctx, name, o)
	if err == nil {
		misread(f.options.mutant, f.options.lock.Identity, lease, metav1.Now().Time)
	}
	return lease, err
}

// Update writes the Lease as the mutant does.
func (f faultyLeases) Update(ctx context.Context, lease *coordination.Lease, o metav1.UpdateOptions) (*coordination.Lease, error) {
	if f.options.mutant == api.MutantZeroRelease && holderOf(lease) == "" {
		lease.Spec.LeaseDurationSeconds = new(int32)
	}
	written, err := f.LeaseInterface.Update(ctx, lease, o)
	if f.options.mutant == api.MutantPanicsOnRefusal && err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
		written = nil
		_ = written.Spec.HolderIdentity // kubernetes#87800: the lock's object is nil after an update that failed
	}
	return written, err
}

func holderOf(lease *coordination.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
