package replica

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

func deployment(args ...string) *appsv1.Deployment {
	two := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: api.DefaultName, Generation: 3},
		Spec: appsv1.DeploymentSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": api.DefaultName}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerName, Args: args}}}}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2},
	}
}

func TestSettingsOf(t *testing.T) {
	got, err := settingsOf(deployment("--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s",
		"--identity=pod+uuid", "--release-on-cancel=false", "--election=guarded", "--on-loss=rejoin", "--guard-deadline=false", "--guard-release", "--guard-fence=0", "--leader-elect-resource-name=other"))
	want := Settings{Timing: api.Fast(), Election: "guarded", Identity: "pod+uuid", ReleaseOnCancel: false, OnLoss: "rejoin", Guards: api.Guards{Client: true, Release: true}, BinaryVersion: "1.0.0", LeaseName: "other"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	got, err = settingsOf(deployment())
	want = Settings{Timing: api.Default(), Election: "guarded", Identity: "pod", ReleaseOnCancel: true, OnLoss: "exit", Guards: api.AllGuards(), BinaryVersion: api.DefaultBinaryVersion, LeaseName: api.DefaultName}
	if err != nil || got != want {
		t.Errorf("without arguments: got %+v, %v; want %+v", got, err, want)
	}
	got, err = settingsOf(deployment("-leader-elect-lease-duration", "5s", "--leader-elect-renew-deadline", "3s", "-leader-elect-retry-period=1s", "--release-on-cancel=0"))
	want.Timing, want.ReleaseOnCancel = api.Fast(), false
	if err != nil || got != want {
		t.Errorf("as Go's flags may be written, too: got %+v, %v; want %+v", got, err, want)
	}
	if _, err := settingsOf(deployment("--leader-elect-resource-namespace=elsewhere")); err == nil {
		t.Error("a Lease in another namespace was accepted")
	}
	if _, err := settingsOf(deployment("--leader-elect-lease-duration=soon")); err == nil || !strings.Contains(err.Error(), "soon") {
		t.Errorf("a duration that is none: got %v, want an error that names it", err)
	}
}

func pod(name string, ready, terminating bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: api.DefaultNamespace, Name: name, Labels: map[string]string{"app": api.DefaultName}}}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if terminating {
		now := metav1.NewTime(time.Unix(1, 0))
		p.DeletionTimestamp, p.Finalizers = &now, []string{"x/y"}
	}
	return p
}

func TestState_SettledMeansExactlyTheWantedReadyPods(t *testing.T) {
	for _, c := range []struct {
		name string
		pods []*corev1.Pod
		want bool
	}{
		{"two ready", []*corev1.Pod{pod("a", true, false), pod("b", true, false)}, true},
		{"one ready", []*corev1.Pod{pod("a", true, false), pod("b", false, false)}, false},
		{"one on its way out", []*corev1.Pod{pod("a", true, false), pod("b", true, true)}, false},
		{"an old one left", []*corev1.Pod{pod("a", true, false), pod("b", true, false), pod("c", true, true)}, false},
	} {
		client := fake.NewClientset(deployment())
		for _, p := range c.pods {
			if err := client.Tracker().Add(p); err != nil {
				t.Fatal(err)
			}
		}
		d := Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}
		got, err := d.State(t.Context())
		if err != nil || got.Settled != c.want {
			t.Errorf("%s: got settled %t, %v; want %t", c.name, got.Settled, err, c.want)
		}
	}
}

func TestState_NoDeploymentSaysWhatToType(t *testing.T) {
	d := Deployment{Client: fake.NewClientset(), Namespace: api.DefaultNamespace, Name: api.DefaultName}
	for what, err := range map[string]error{"state": second(d.State(t.Context())), "scale": d.Scale(t.Context(), 2), "set": second(d.Set(t.Context(), Change{}))} {
		if err == nil || !strings.Contains(err.Error(), "there is no Deployment academy-build/academy-operator") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestLoad_EveryObjectOfTheManifestsCanBeApplied(t *testing.T) {
	objects, err := load(manifests.FS)
	if err != nil {
		t.Fatal(err)
	}
	own, err := fs.Sub(manifests.FS, "gate")
	if err != nil {
		t.Fatal(err)
	}
	gate, err := load(own)
	if err != nil {
		t.Fatal(err)
	}
	objects = append(objects, gate...)
	kinds := map[string]int{}
	for _, o := range objects {
		kinds[o.GetKind()]++
		if _, known := resources[o.GetKind()]; !known {
			t.Errorf("%s %s: the kind is not in the table", o.GetKind(), o.GetName())
		}
	}
	for kind := range resources {
		if kinds[kind] == 0 {
			t.Errorf("the table knows %s, which the manifests do not use", kind)
		}
	}
}

func TestLoad_AnObjectInAnotherNamespaceIsRefused(t *testing.T) {
	_, err := load(fstest.MapFS{
		"kustomization.yaml": {Data: []byte("resources: [a.yaml]")},
		"a.yaml":             {Data: []byte("kind: ConfigMap\nmetadata: {name: x, namespace: default}")},
	})
	if err == nil || !strings.Contains(err.Error(), `"default"`) {
		t.Errorf("got %v, want an error that names the namespace", err)
	}
}
