package lab

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

// stuck is a lab whose operator never settles: the Deployment's status stays behind.
func stuck(t *testing.T) (*Lab, *fake.Clientset) {
	client := fake.NewClientset(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: api.DefaultName, Generation: 2},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": api.DefaultName}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerName}}}}},
	})
	return &Lab{Client: client, Say: func(string) {}, Cluster: provider.Cluster{StateDir: t.TempDir()},
		Deployment: replica.Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}}, client
}

func TestAlone(t *testing.T) {
	cluster := provider.Cluster{StateDir: t.TempDir()}
	release, err := alone(cluster, "measuring failovers of this lab")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone(cluster, "scaling the operator"); err == nil || err.Error() != "another labctl is measuring failovers of this lab" || hintOf(err) != "labctl watch" {
		t.Errorf("a second one: got %v, want a refusal with a hint", err)
	}
	release()
	again, err := alone(cluster, "scaling")
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	defer again()
	if _, err := alone(cluster, ""); err == nil || err.Error() != "another labctl is scaling" {
		t.Errorf("got %v, want what the present one does", err)
	}
}

func TestWhileAnotherMeasuresNothingIsChanged(t *testing.T) {
	l, client := stuck(t)
	release, err := alone(l.Cluster, "measuring failovers of this lab")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	unique := api.IdentityPodUUID
	_, set := l.Set(t.Context(), replica.Change{Identity: &unique})
	_, failover := l.Failover(t.Context(), Options{Set: replica.Change{Identity: &unique}})
	for what, err := range map[string]error{"set": set, "scale": l.Scale(t.Context(), 3), "failover": failover} {
		if err == nil || hintOf(err) != "labctl watch" {
			t.Errorf("%s: got %v with hint %q, want a refusal with labctl watch", what, err, hintOf(err))
		}
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("%d requests were made, want none: %v", n, client.Actions())
	}
}

func TestSet_ARolloutThatDoesNotEndSaysHowToGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := stuck(t)
		unique, fast := api.IdentityPodUUID, api.Fast()
		begun := time.Now()
		_, err := l.Set(t.Context(), replica.Change{Identity: &unique, Timing: &fast})
		if !errors.Is(err, errGaveUp) || hintOf(err) != "labctl operator set --timing=15/10/2 --identity=pod" {
			t.Errorf("got %v with hint %q, want the old values in the hint", err, hintOf(err))
		}
		if err != nil && !strings.Contains(err.Error(), "timing 15/10/2 → 5/3/1, identity pod → pod+uuid") {
			t.Errorf("got %q, want what was set in it", err)
		}
		if took := time.Since(begun); took < rolloutLimit+takeover(api.Default()) {
			t.Errorf("gave up after %s, before a Lease that was not released could be taken", took)
		}
	})
}
