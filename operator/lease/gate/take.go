package gate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Take tries once to make want's holder the holder of the lease, and returns who holds it now; "" if another writer came first
// and it is not known who. It creates the lease; if there is one, it reads it and updates that very version.
func (g Gate) Take(ctx context.Context, want Record) (holder string, err error) {
	err = g.API.Create(ctx, want)
	if err == nil {
		return want.Holder, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return "", fmt.Errorf("create Lease %s: %w", want.Name, err)
	}
	found, err := g.API.Lease(ctx, want.Name)
	if apierrors.IsNotFound(err) {
		return "", nil // released meanwhile: the next reconcile creates it
	}
	if err != nil {
		return "", fmt.Errorf("read Lease %s: %w", want.Name, err)
	}
	if found.Holder != want.Holder {
		free, err := g.Free(ctx, found)
		if err != nil || !free {
			return found.Holder, err
		}
	}
	want.UID, want.Version = found.UID, found.Version
	err = g.API.Update(ctx, want)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return "", nil // another writer won; the next reconcile looks again
	}
	if err != nil {
		return "", fmt.Errorf("update Lease %s: %w", want.Name, err)
	}
	return want.Holder, nil
}

// Free reports whether a lease may be taken over: it names nobody, its Job has finished, its Job does not exist and it is older
// than the grace, or it is older than its backstop. Its age is this manager's clock less that of the manager that took it.
func (g Gate) Free(ctx context.Context, r Record) (bool, error) {
	age := g.now().Sub(r.Acquired)
	if r.Holder == "" || age > r.Backstop {
		return true, nil
	}
	state, err := g.API.Job(ctx, r.Holder)
	if err != nil {
		return false, fmt.Errorf("read Job %s, which holds Lease %s: %w", r.Holder, r.Name, err)
	}
	return state == Finished || state == Absent && age > Grace, nil
}
