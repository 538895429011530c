package lab

import (
	"context"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

// electable refuses what can't be measured where the API server elects: on one that does not, and the modes without a model.
func (l *Lab) electable(ctx context.Context, options Options, now replica.Settings) error {
	after := options.Set.On(now)
	if l.foreign != nil || after.Election != api.ElectionCoordinated {
		return nil
	}
	for _, m := range options.Modes {
		if err := gap.Elects(m); err != nil {
			return &provider.Problem{Err: err, Hint: fmt.Sprintf("labctl failover --mode %s --election %s", m, api.ElectionGuarded)}
		}
	}
	return l.coordinates(ctx, now, after)
}

// coordinates refuses the coordinated election where the API server does not coordinate any, before anything is changed.
func (l *Lab) coordinates(ctx context.Context, now, after replica.Settings) error {
	if after.Election != api.ElectionCoordinated || now.Election == after.Election {
		return nil
	}
	missing := func(why string) error {
		return &provider.Problem{Err: fmt.Errorf("the API server of this lab does not coordinate elections: %s; an administrator starts it with %s", why, api.CoordinationFlags),
			Hint: "labctl up --name coordinated --provider embedded"}
	}
	served, err := l.Client.Discovery().ServerResourcesForGroupVersion(api.CoordinationVersion)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ask what the API server can do: %w", err)
	}
	if err != nil || !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == api.CandidateResource }) {
		return missing("it serves no " + api.CandidateResource + " of " + api.CoordinationVersion)
	}
	strategy := coordinationv1.CoordinatedLeaseStrategy(api.StrategyOldest)
	asked := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: l.leaseNamespace()},
		Spec: coordinationv1.LeaseSpec{Strategy: &strategy, LeaseDurationSeconds: new(int32(1))}}
	kept, err := l.Client.CoordinationV1().Leases(l.leaseNamespace()).Create(ctx, asked, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return fmt.Errorf("ask what the API server can do: %w", err)
	}
	if kept.Spec.Strategy == nil {
		return missing("it drops the field strategy of a Lease, so its feature gate " + api.CoordinationGate + " is off")
	}
	return nil
}
