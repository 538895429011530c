package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestElectable(t *testing.T) {
	coordinated := api.ElectionCoordinated
	for name, c := range map[string]struct {
		served, gate bool
		modes        []fault.Mode
		want         string
	}{
		"a server that elects":             {true, true, []fault.Mode{fault.Graceful, fault.Upgrade, fault.Crash}, ""},
		"a server without the resource":    {false, true, []fault.Mode{fault.Graceful}, "serves no leasecandidates"},
		"a server with the gate off":       {true, false, []fault.Mode{fault.Graceful}, "drops the field strategy"},
		"a mode that has no model":         {true, true, []fault.Mode{fault.Graceful, fault.Freeze}, "no model of freeze"},
		"another, before the server's own": {false, false, []fault.Mode{fault.Steal}, "no model of steal"},
	} {
		client := fake.NewClientset()
		if c.served {
			client.Resources = []*metav1.APIResourceList{{GroupVersion: api.CoordinationVersion, APIResources: []metav1.APIResource{{Name: api.CandidateResource}}}}
		}
		client.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			create := a.(clienttesting.CreateActionImpl)
			if len(create.CreateOptions.DryRun) == 0 {
				t.Errorf("%s: a Lease was written", name)
			}
			lease := create.GetObject().(*coordinationv1.Lease).DeepCopy()
			if !c.gate {
				lease.Spec.Strategy = nil // as the API server does
			}
			return true, lease, nil
		})
		l := &Lab{Client: client, Deployment: replica.Deployment{Client: client, Namespace: "n", Name: "d"}}
		err := l.electable(t.Context(), Options{Modes: c.modes, Set: replica.Change{Election: &coordinated}}, replica.Default())
		var problem *provider.Problem
		if (err != nil) != (c.want != "") || err != nil && (!strings.Contains(err.Error(), c.want) || !errors.As(err, &problem) || problem.Hint == "") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if err := l.electable(t.Context(), Options{Modes: c.modes}, replica.Default()); err != nil {
			t.Errorf("%s, another election: got %v", name, err)
		}
	}
}

func TestTied_FindsTheStandbyOfTheSameSecond(t *testing.T) {
	made := func(name string, second int) *v1beta1.LeaseCandidate {
		return &v1beta1.LeaseCandidate{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(second), 0))}}
	}
	s := scene{holder: timeline.Pod{Name: "a"}, standbys: []timeline.Pod{{Name: "b"}, {Name: "c"}}}
	for name, c := range map[string]struct {
		election string
		objects  []runtime.Object
		want     string
	}{
		"one second apart":    {api.ElectionCoordinated, []runtime.Object{made("a", 7), made("b", 8), made("c", 6)}, ""},
		"the second standby":  {api.ElectionCoordinated, []runtime.Object{made("a", 7), made("b", 8), made("c_1", 7)}, "c"},
		"one that is gone":    {api.ElectionCoordinated, []runtime.Object{made("a", 7), made("z", 7)}, ""},
		"nobody elects there": {api.ElectionPlain, []runtime.Object{made("a", 7), made("b", 7)}, ""},
	} {
		client := fake.NewClientset(c.objects...)
		l := &lane{lab: &Lab{Client: client, Deployment: replica.Deployment{Client: client, Namespace: "n"}}, settings: replica.Settings{Election: c.election}}
		got, tied, err := l.tied(t.Context(), s)
		if err != nil || got.Name != c.want || tied != (c.want != "") {
			t.Errorf("%s: got %q, %t, %v; want %q", name, got.Name, tied, err, c.want)
		}
	}
}
