package replica

import (
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

func TestUpgrade_TheLeaderGoesFirstAndSlowly(t *testing.T) {
	leader := pod("leader", true, false)
	leader.Namespace, leader.UID = api.DefaultNamespace, "leader-uid"
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: api.DefaultName}, Spec: appsv1.DeploymentSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerName, Args: []string{"--election=plain", "--binary-version=1.0.0"}}}}}}}
	client := fake.NewClientset(leader, deployment)
	target := Target{Deployment: Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}, Version: Version{To: "1.1.0", Pace: 7400 * time.Millisecond}}
	subject := fault.Pod{Name: "leader", UID: "leader-uid"}
	if err := target.Upgrade(t.Context(), subject); err != nil {
		t.Fatal(err)
	}
	after, err := target.Deployment.get(t.Context())
	if err != nil || after.Spec.MinReadySeconds != 8 || !slices.Equal(after.Spec.Template.Spec.Containers[0].Args, []string{"--election=plain", "--binary-version=1.1.0"}) {
		t.Errorf("got %+v, %v", after.Spec, err)
	}
	marked, err := client.CoreV1().Pods(api.DefaultNamespace).Get(t.Context(), "leader", metav1.GetOptions{})
	if err != nil || marked.Annotations[corev1.PodDeletionCost] != "-1" {
		t.Errorf("got annotations %v, %v", marked.Annotations, err)
	}
	if err := target.Restore(t.Context(), fault.Upgrade, subject); err != nil {
		t.Fatal(err)
	}
	if after, _ := target.Deployment.get(t.Context()); after.Spec.MinReadySeconds != 0 || after.Spec.Template.Spec.Containers[0].Args[1] != "--binary-version=1.1.0" {
		t.Errorf("after the end: got %+v", after.Spec)
	}
	if err := target.Upgrade(t.Context(), fault.Pod{Name: "gone", UID: "gone-uid"}); !errors.Is(err, fault.ErrGone) {
		t.Errorf("of a pod that is gone: got %v, want ErrGone", err)
	}
}
