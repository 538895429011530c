package replica

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

// robbable is a target whose pod "leader" holds the Lease at transition 7, with a work object that carries its stamp.
func robbable(t *testing.T) (Target, fault.Pod) {
	t.Helper()
	leader := pod("leader", true, false)
	leader.UID = "leader-uid"
	holder, transitions, lasts := "leader_1", int32(7), int32(15)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: api.DefaultName, UID: "lease-uid"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: &transitions, LeaseDurationSeconds: &lasts}}
	work := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: api.DefaultWork, Labels: map[string]string{api.LabelWork: "true"},
		Annotations: map[string]string{api.AnnotationTransition: "7", api.AnnotationHolder: "leader_1"}}}
	client := fake.NewClientset(leader, lease, work)
	d := Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}
	return Target{Deployment: d, LeaseNamespace: api.DefaultNamespace, Lease: api.DefaultName}, fault.Pod{Name: "leader", UID: "leader-uid"}
}

func (t Target) work(test *testing.T) *corev1.ConfigMap {
	test.Helper()
	object, err := t.Deployment.Client.CoreV1().ConfigMaps(api.DefaultNamespace).Get(test.Context(), api.DefaultWork, metav1.GetOptions{})
	if err != nil {
		test.Fatal(err)
	}
	return object
}

func TestSteal_WritesAValidRecord(t *testing.T) {
	target, leader := robbable(t)
	if err := target.Steal(t.Context(), leader, "thief"); err != nil {
		t.Fatal(err)
	}
	lease, err := target.Deployment.Client.CoordinationV1().Leases(api.DefaultNamespace).Get(t.Context(), api.DefaultName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := lease.Spec
	if *s.HolderIdentity != "thief" || *s.LeaseTransitions != 8 || *s.LeaseDurationSeconds != 15 || time.Since(s.RenewTime.Time) > time.Minute {
		t.Errorf("got %+v", s)
	}
	if err := target.Steal(t.Context(), leader, "thief"); !errors.Is(err, fault.ErrGone) {
		t.Errorf("of a pod that does not hold it: got %v, want ErrGone", err)
	}
}

func TestDeleteLease_MarksWhatTheFenceWillRefuse(t *testing.T) {
	target, leader := robbable(t)
	if err := target.DeleteLease(t.Context(), fault.Pod{Name: "leader", UID: "another"}); !errors.Is(err, fault.ErrGone) {
		t.Errorf("of another pod of that name: got %v, want ErrGone", err)
	}
	if left, _ := target.Deployment.Left(t.Context()); len(left) != 0 {
		t.Errorf("nothing was done, and %v is left", left)
	}
	if err := target.DeleteLease(t.Context(), leader); err != nil {
		t.Fatal(err)
	}
	_, err := target.Deployment.Client.CoordinationV1().Leases(api.DefaultNamespace).Get(t.Context(), api.DefaultName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is there: %v", err)
	}
	left, remove := target.Deployment.Left(t.Context())
	if len(left) != 1 || !strings.Contains(left[0], api.DefaultWork) {
		t.Errorf("left: %v, want the work object's stamp", left)
	}
	if err := remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	work := target.work(t)
	if _, stamped := work.Annotations[api.AnnotationTransition]; stamped || work.Labels[labelFault] != "" || work.Labels[api.LabelWork] != "true" || work.Annotations[api.AnnotationHolder] == "" {
		t.Errorf("got labels %v, annotations %v", work.Labels, work.Annotations)
	}
	if left, _ := target.Deployment.Left(t.Context()); len(left) != 0 {
		t.Errorf("left after all: %v", left)
	}
}

// A stamp that no mode of labctl left is a student's, who is told and does it.
func TestLiftFence_LeavesOthersAlone(t *testing.T) {
	target, _ := robbable(t)
	if found, err := target.Deployment.LiftFence(t.Context()); found || err != nil || target.work(t).Annotations[api.AnnotationTransition] != "7" {
		t.Errorf("found %t, %v, annotations %v", found, err, target.work(t).Annotations)
	}
}

func TestDenyPolicy_EndsByItselfAndIsFoundAgain(t *testing.T) {
	target, leader := robbable(t)
	until := time.Date(2026, 11, 30, 12, 0, 26, 0, time.UTC)
	policy := target.denyPolicy(leader.Name, until)
	if rule := policy.Spec.Validations[0].Expression; !strings.Contains(rule, "timestamp('2026-11-30T12:00:26Z')") {
		t.Errorf("the policy %q does not end", rule)
	}
	if match := policy.Spec.MatchConditions[0].Expression; !strings.Contains(match, "== 'leader'") || !strings.Contains(match, "'academy-build'") {
		t.Errorf("the policy is for others, too: %q", match)
	}
	policies := target.Deployment.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if _, err := policies.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	left, remove := target.Deployment.Left(t.Context())
	if len(left) != 1 || !strings.Contains(left[0], "labctl-deny-academy-build-leader") {
		t.Errorf("left: %v", left)
	}
	if err := errors.Join(remove(t.Context()), target.Restore(t.Context(), fault.Deny, leader)); err != nil {
		t.Errorf("removing it, and removing it again: %v", err)
	}
	if left, _ := target.Deployment.Left(t.Context()); len(left) != 0 {
		t.Errorf("left after all: %v", left)
	}
}
