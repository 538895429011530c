package replica

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
)

// Roll restarts the Deployment as `kubectl rollout restart` does: the template gets the time as an annotation.
func (t Target) Roll(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	return t.Deployment.patch(ctx, patch, "restart")
}

// Evict asks the Eviction API to delete the pod of that UID.
func (t Target) Evict(ctx context.Context, pod fault.Pod) error {
	uid := types.UID(pod.UID)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: t.Deployment.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}}
	err := t.Deployment.Client.PolicyV1().Evictions(t.Deployment.Namespace).Evict(ctx, eviction)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return fmt.Errorf("evict pod %s: %w", pod.Name, fault.ErrGone)
	case apierrors.IsTooManyRequests(err):
		return &provider.Problem{Err: fmt.Errorf("evict pod %s: the PodDisruptionBudget does not allow it now: %w", pod.Name, err),
			Hint: fmt.Sprintf("kubectl -n %s get poddisruptionbudgets", t.Deployment.Namespace)}
	case err != nil:
		return fmt.Errorf("evict pod %s: %w", pod.Name, err)
	default:
		return nil
	}
}

// held reads the Lease; the error wraps ErrGone if the pod does not hold it.
func (t Target) held(ctx context.Context, pod fault.Pod) (*coordinationv1.Lease, error) {
	object, err := t.pod(ctx, pod)
	if err != nil {
		return nil, err
	}
	lease, err := t.Deployment.Client.CoordinationV1().Leases(t.LeaseNamespace).Get(ctx, t.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fault.ErrGone
	}
	if err != nil {
		return nil, err
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || !holds(object, *holder) {
		return nil, fmt.Errorf("the Lease is not held by pod %s any more: %w", pod.Name, fault.ErrGone)
	}
	return lease, nil
}

// Steal writes the thief into the Lease as a candidate would that takes it: times, duration and count are valid.
func (t Target) Steal(ctx context.Context, pod fault.Pod, thief string) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // a renewal may come between
		lease, err := t.held(ctx, pod)
		if err != nil {
			return err
		}
		now, transitions := metav1.NowMicro(), int32(1)
		if old := lease.Spec.LeaseTransitions; old != nil {
			transitions += *old
		}
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.RenewTime, lease.Spec.LeaseTransitions = &thief, &now, &now, &transitions
		_, err = t.Deployment.Client.CoordinationV1().Leases(t.LeaseNamespace).Update(ctx, lease, metav1.UpdateOptions{FieldManager: "labctl"})
		return err
	})
	if err != nil {
		return fmt.Errorf("steal the Lease %s/%s: %w", t.LeaseNamespace, t.Lease, err)
	}
	return nil
}

// DeleteLease marks the work objects, so that what the deletion leaves on them is found, and removes the Lease.
func (t Target) DeleteLease(ctx context.Context, pod fault.Pod) error {
	lease, err := t.held(ctx, pod)
	if err == nil {
		err = t.Deployment.markFence(ctx)
	}
	if err == nil {
		err = t.Deployment.Client.CoordinationV1().Leases(t.LeaseNamespace).Delete(ctx, t.Lease, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &lease.UID}})
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return fmt.Errorf("delete the Lease %s/%s: %w", t.LeaseNamespace, t.Lease, fault.ErrGone)
	case err != nil:
		return fmt.Errorf("delete the Lease %s/%s: %w", t.LeaseNamespace, t.Lease, err)
	default:
		return nil
	}
}
