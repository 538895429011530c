package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
)

// firstLeaseLimit is how long a foreign operator that was just deployed may take to make its Lease.
const firstLeaseLimit = time.Minute

// firstLease waits for the Lease of a foreign operator. If it does not come, the error says what its pods are doing, and the hint
// asks them.
func (l *Lab) firstLease(ctx context.Context) (lease *timeline.Lease, err error) {
	what := fmt.Sprintf("Lease %s/%s", l.foreign.LeaseNamespace, l.foreign.LeaseName)
	var pods []corev1.Pod
	err = l.wait(ctx, firstLeaseLimit, func(ctx context.Context) (bool, string, error) {
		if lease, err = l.Lease(ctx, l.foreign.LeaseName); err != nil || lease != nil {
			return lease != nil, "", err
		}
		state, err := l.Deployment.State(ctx)
		pods = state.Pods
		return false, fmt.Sprintf("waiting for %s, which is not there yet; of the Deployment's %d pods %d are ready%s", what, state.Replicas, state.Ready, unready(state.Pods)), err
	})
	if !errors.Is(err, errGaveUp) {
		return lease, err
	}
	p := &provider.Problem{Err: fmt.Errorf("there is no %s after %s%s", what, firstLeaseLimit, unready(pods)), Hint: "kubectl get leases -A"}
	if len(pods) > 0 {
		p.Hint = fmt.Sprintf("kubectl -n %s logs %s", pods[0].Namespace, pods[0].Name)
	}
	return nil, p
}
