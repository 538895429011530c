package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/fault"
)

// extraPod is what the API server adds to a user that came with a token bound to a pod.
const extraPod = "authentication.kubernetes.io/pod-name"

// denied is in the words of each refusal.
const denied = "labctl failover --mode deny refuses this pod's writes of the Lease"

// denyLimit is how long a policy may take to be in force: the API server looks for new ones once a second.
const denyLimit = 10 * time.Second

func denyName(namespace, pod string) string { return "labctl-deny-" + namespace + "-" + pod }

// denyPolicy refuses the pod's writes of the Lease, of any renewTime before until: whatever becomes of labctl, it refuses
// nothing after that.
func (t Target) denyPolicy(pod string, until time.Time) *admissionv1.ValidatingAdmissionPolicy {
	ignore := admissionv1.Ignore
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: denyName(t.Deployment.Namespace, pod), Labels: map[string]string{labelFault: string(fault.Deny)}},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"coordination.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"leases"}}}}}},
			MatchConditions: []admissionv1.MatchCondition{{Name: "the-lease-and-the-pod", Expression: fmt.Sprintf(
				"request.namespace == '%s' && request.name == '%s' && has(request.userInfo.extra) && '%[3]s' in request.userInfo.extra && request.userInfo.extra['%[3]s'][0] == '%[4]s'",
				t.LeaseNamespace, t.Lease, extraPod, pod)}},
			Validations: []admissionv1.Validation{{Message: denied,
				Expression: fmt.Sprintf("has(object.spec.renewTime) && timestamp(object.spec.renewTime) >= timestamp('%s')", until.UTC().Format(time.RFC3339))}},
		},
	}
}

// deny makes the policy and returns when it is in force.
func (t Target) deny(ctx context.Context, pod *corev1.Pod, lasts time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, denyLimit)
	defer cancel()
	policy := t.denyPolicy(pod.Name, time.Now().Add(lasts))
	policies := t.Deployment.Client.AdmissionregistrationV1()
	if err := t.Deployment.allow(ctx, policy.Name); err != nil {
		return err
	}
	if _, err := policies.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{FieldManager: "labctl"}); err != nil {
		return fmt.Errorf("make the policy: %w", err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: *policy.ObjectMeta.DeepCopy(),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	if _, err := policies.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{FieldManager: "labctl"}); err != nil {
		return fmt.Errorf("bind the policy: %w", err)
	}
	return t.inForce(ctx, pod)
}

// inForce tries a write in the pod's name, which is only tried, until it is refused by the policy.
func (t Target) inForce(ctx context.Context, pod *corev1.Pod) error {
	account := "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName
	config := rest.CopyConfig(t.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + pod.Namespace, "system:authenticated"},
		Extra: map[string][]string{extraPod: {pod.Name}}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	leases := client.CoordinationV1().Leases(t.LeaseNamespace)
	for {
		lease, err := leases.Get(ctx, t.Lease, metav1.GetOptions{})
		if err == nil {
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		}
		switch {
		case err != nil && strings.Contains(err.Error(), denied):
			return nil
		case err != nil && !apierrors.IsConflict(err):
			return fmt.Errorf("try a write in the name of pod %s: %w", pod.Name, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), fmt.Errorf("the policy was not in force after %s", denyLimit))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// allow removes the policy of that name; none is no error. The binding goes first, as it alone is in force.
func (d Deployment) allow(ctx context.Context, name string) error {
	policies := d.Client.AdmissionregistrationV1()
	for _, remove := range []func(context.Context, string, metav1.DeleteOptions) error{
		policies.ValidatingAdmissionPolicyBindings().Delete, policies.ValidatingAdmissionPolicies().Delete} {
		if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the policy %s: %w", name, err)
		}
	}
	return nil
}

// Left says in words what modes of a labctl that was killed left on the cluster: policies anywhere, and stamps on the
// Deployment's work objects. What can't be looked for was not left, since the same right makes it.
func (d Deployment) Left(ctx context.Context) (left []string, remove func(context.Context) error) {
	var names []string
	list := metav1.ListOptions{LabelSelector: labelFault}
	if policies, err := d.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, list); err == nil {
		for _, p := range policies.Items {
			names = append(names, p.Name)
			left = append(left, "the policy "+p.Name)
		}
	}
	if objects, err := d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, list); err == nil {
		for _, o := range objects.Items {
			left = append(left, fmt.Sprintf("stamps of a deleted Lease on ConfigMap %s/%s", o.Namespace, o.Name))
		}
	}
	return left, func(ctx context.Context) error {
		_, err := d.LiftFence(ctx)
		for _, name := range names {
			err = errors.Join(err, d.allow(ctx, name))
		}
		return err
	}
}

// holds reports whether an identity is the pod's: its name, or its host's, with or without a suffix.
func holds(pod *corev1.Pod, identity string) bool {
	name, _, _ := strings.Cut(identity, "_")
	return name != "" && (name == pod.Name || name == pod.Spec.Hostname || pod.Spec.HostNetwork && name == pod.Spec.NodeName)
}
