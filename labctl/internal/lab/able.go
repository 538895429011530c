package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// able refuses a mode that can't be done here, before anything is changed.
func (l *Lab) able(ctx context.Context, options Options, timing api.Timing) error {
	if options.Set.Timing != nil {
		timing = *options.Set.Timing
	}
	can := l.Modes()
	for _, m := range options.Modes {
		i := slices.IndexFunc(can, func(d fault.Description) bool { return d.Mode == m })
		if i < 0 {
			var names []string
			for _, d := range can {
				names = append(names, string(d.Mode))
			}
			return &provider.Problem{Err: fmt.Errorf("on %s nothing can do %s; what can be done is %s", l.Cluster.Provider, m, strings.Join(names, ", ")), Hint: "labctl failover --mode " + names[0]}
		}
		if err := l.fits(can[i], options, timing); err != nil {
			return err
		}
		if err := l.permitted(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses what the timing or the number of lanes does not allow.
func (l *Lab) fits(d fault.Description, options Options, timing api.Timing) error {
	if lasts := lasting(d, timing); (d.Silences || d.Kind == fault.OfServer) && lasts > fault.LongestSilence {
		return &provider.Problem{Err: fmt.Errorf("with %s, %s would have to last %s; nothing is silenced for longer than %s, so that nothing stays if labctl dies", timing, d.Mode, lasts, fault.LongestSilence),
			Hint: fmt.Sprintf("labctl failover --mode %s --timing default", d.Mode)}
	}
	if d.Kind == fault.OfServer && options.Lanes > 1 {
		return &provider.Problem{Err: fmt.Errorf("%s takes the API server away from every lane at once, so lanes can't be measured side by side", d.Mode), Hint: fmt.Sprintf("labctl failover --mode %s", d.Mode)}
	}
	return nil
}

// succeeded refuses to silence a holder that nobody can succeed: its pod stays, so no replacement is made.
func (l *Lab) succeeded(modes []fault.Mode, replicas int) error {
	hint := "labctl scale 2"
	if l.foreign != nil {
		hint = fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", l.Deployment.Namespace, l.Deployment.Name)
	}
	for _, m := range modes {
		if d, _ := fault.Describe(m); d.Silences && replicas < 2 {
			return &provider.Problem{Err: fmt.Errorf("%s waits for a standby to take over, and the operator has 1 replica", m), Hint: hint}
		}
	}
	return nil
}

// needed are the rights that a mode needs beside those of the lab itself.
func (l *Lab) needed(m fault.Mode) []authorizationv1.ResourceAttributes {
	own, leases := l.Deployment.Namespace, l.leaseNamespace()
	const admission = "admissionregistration.k8s.io"
	switch m {
	case fault.Rollout:
		return []authorizationv1.ResourceAttributes{{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: own, Name: l.Deployment.Name}}
	case fault.Upgrade:
		return []authorizationv1.ResourceAttributes{{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: own, Name: l.Deployment.Name},
			{Verb: "patch", Resource: "pods", Namespace: own}}
	case fault.Evict:
		return []authorizationv1.ResourceAttributes{{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: own}}
	case fault.Steal:
		return []authorizationv1.ResourceAttributes{{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: leases}}
	case fault.DeleteLease:
		return []authorizationv1.ResourceAttributes{{Verb: "delete", Group: "coordination.k8s.io", Resource: "leases", Namespace: leases}}
	case fault.Deny:
		return []authorizationv1.ResourceAttributes{
			{Verb: "create", Group: admission, Resource: "validatingadmissionpolicies"}, {Verb: "delete", Group: admission, Resource: "validatingadmissionpolicies"},
			{Verb: "create", Group: admission, Resource: "validatingadmissionpolicybindings"}, {Verb: "delete", Group: admission, Resource: "validatingadmissionpolicybindings"},
			{Verb: "impersonate", Resource: "serviceaccounts", Namespace: own}}
	default:
		return nil
	}
}

// permitted refuses a mode that the user's rights, or the API server's version, do not allow.
func (l *Lab) permitted(ctx context.Context, m fault.Mode) error {
	if m == fault.Deny {
		const version = "admissionregistration.k8s.io/v1"
		served, err := l.Client.Discovery().ServerResourcesForGroupVersion(version)
		if err != nil {
			return fmt.Errorf("ask what the API server can do: %w", err)
		}
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "validatingadmissionpolicies" }) {
			return &provider.Problem{Err: fmt.Errorf("this API server knows no ValidatingAdmissionPolicy, which %s needs", m), Hint: "labctl failover --mode cut-refuse"}
		}
	}
	for _, right := range l.needed(m) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		answer, err := l.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask whether %s is allowed: %w", m, err)
		}
		if !answer.Status.Allowed {
			what := right.Resource
			if right.Subresource != "" {
				what += "/" + right.Subresource
			}
			return &provider.Problem{Err: fmt.Errorf("%s needs the right to %s %s, which this user has not", m, right.Verb, what), Hint: "labctl failover --mode graceful"}
		}
	}
	return nil
}
