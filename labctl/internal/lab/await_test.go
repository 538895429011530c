package lab

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

// awayFor makes an API server that can't be reached for a while.
func awayFor(client *fake.Clientset, d time.Duration) {
	begun := time.Now()
	client.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		if time.Since(begun) < d {
			return true, nil, &url.Error{Op: "Get", URL: "https://127.0.0.1:1", Err: syscall.ECONNREFUSED}
		}
		return false, nil, nil
	})
}

func labOn(client *fake.Clientset) *Lab {
	return &Lab{Client: client, Say: func(string) {}, Cluster: provider.Cluster{Name: "lab"},
		Deployment: replica.Deployment{Client: client, Namespace: api.DefaultNamespace, Name: api.DefaultName}}
}

// shipped is the Deployment of the manifests, scaled.
func shipped(t *testing.T, replicas int32) *appsv1.Deployment {
	t.Helper()
	data, err := manifests.FS.ReadFile("deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		t.Fatal(err)
	}
	d.Namespace, d.Spec.Replicas = api.DefaultNamespace, &replicas
	return &d
}

func TestReach_WaitsForAnAPIServerThatIsAwayAndForNothingElse(t *testing.T) {
	for _, c := range []struct {
		away  time.Duration
		there bool
		want  string // of the error
		after time.Duration
	}{
		{0, true, "", 0},
		{10 * time.Second, true, "", 10 * time.Second},
		{10 * time.Second, false, "there is no Deployment", 10 * time.Second},
		{time.Hour, true, "gave up after 30s: waiting for the API server", reachLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			if c.there {
				client = fake.NewClientset(shipped(t, 2))
			}
			awayFor(client, c.away)
			begun := time.Now()
			_, err := labOn(client).reach(t.Context())
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("away for %s: got %v, want %q", c.away, err, c.want)
			}
			if took := time.Since(begun); took < c.after || took > c.after+time.Second {
				t.Errorf("away for %s: answered after %s, want %s", c.away, took, c.after)
			}
		})
	}
}

func TestRescaled(t *testing.T) {
	for now, want := range map[int32]string{2: "", 0: "scaled from 2 to 0", 1: "scaled from 2 to 1"} {
		l := &lane{lab: labOn(fake.NewClientset(shipped(t, now))), replicas: 2}
		err := l.rescaled(t.Context())
		var problem *provider.Problem
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || !errors.As(err, &problem) || problem.Hint != "labctl scale 2") {
			t.Errorf("%d replicas: got %v, want %q and a hint", now, err, want)
		}
	}
	client := fake.NewClientset()
	awayFor(client, time.Hour)
	if err := (&lane{lab: labOn(client), replicas: 2}).rescaled(t.Context()); err != nil {
		t.Errorf("an API server that is away: got %v", err)
	}
}

func TestGiveBack_OnlyWhatNoPodHolds(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "academy-operator-a", Namespace: api.DefaultNamespace, Labels: shipped(t, 2).Spec.Selector.MatchLabels}}
	for holder, want := range map[string]string{"academy-operator-a": "academy-operator-a", "academy-operator-a_7c1d": "academy-operator-a_7c1d", "ghost": "", "": ""} {
		transitions := int32(7)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: api.DefaultName, Namespace: api.DefaultNamespace},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: &transitions}}
		client := fake.NewClientset(shipped(t, 2), pod, lease)
		if err := labOn(client).giveBack(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := client.CoordinationV1().Leases(api.DefaultNamespace).Get(t.Context(), api.DefaultName, metav1.GetOptions{})
		if err != nil || *after.Spec.HolderIdentity != want || *after.Spec.LeaseTransitions != 7 {
			t.Errorf("held by %q: got %q at transition %d, %v; want %q at 7", holder, *after.Spec.HolderIdentity, *after.Spec.LeaseTransitions, err, want)
		}
	}
}

// A leader that writes between the look and the write is left in peace.
func TestGiveBack_AStaleLookChangesNothing(t *testing.T) {
	ghost := "ghost"
	client := fake.NewClientset(shipped(t, 2), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: api.DefaultName, Namespace: api.DefaultNamespace},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &ghost}})
	client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, api.DefaultName, errors.New("stale"))
	})
	if err := labOn(client).giveBack(context.Background()); err != nil {
		t.Errorf("got %v, want none", err)
	}
}
