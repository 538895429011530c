package gate

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// giveBack releases what the operation holds. What fails is only told: the lease of a finished Job is free anyway.
func (g Gate) giveBack(ctx context.Context, op Operation) {
	names := []string{op.Object.RunLease()}
	if op.Object.Kind == Cluster && op.gated() {
		names = append(names, op.Object.ClusterLease())
	}
	for _, name := range names {
		if err := g.release(ctx, name, op.Job); err != nil && g.Log != nil {
			g.Log.Warn("lease not released", "lease", name, "holder", op.Job, "error", err.Error())
		}
	}
}

// giveBackUnlessJob releases what the operation holds if the API server has no Job of its name: an earlier pass may have created
// it, and then it runs under these leases.
func (g Gate) giveBackUnlessJob(ctx context.Context, op Operation) {
	if state, err := g.API.Job(ctx, op.Job); err != nil || state != Absent {
		return
	}
	g.giveBack(ctx, op)
}

// release deletes a lease that the holder still has. One that somebody else took between the read and the deletion has another
// version, and stays.
func (g Gate) release(ctx context.Context, name, holder string) error {
	r, err := g.API.Lease(ctx, name)
	if apierrors.IsNotFound(err) || err == nil && r.Holder != holder {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Lease %s: %w", name, err)
	}
	err = g.API.Delete(ctx, r)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Cleanup deletes every lease of an object that is gone, whoever holds it.
func (g Gate) Cleanup(ctx context.Context, owner Object) error {
	owned, err := g.API.Owned(ctx, owner)
	if err != nil {
		return fmt.Errorf("list the leases of %s %s: %w", owner.Kind, owner.Name, err)
	}
	var problems []error
	for _, r := range owned {
		if err := g.API.Delete(ctx, r); err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("delete Lease %s: %w", r.Name, err))
		}
	}
	return errors.Join(problems...)
}
