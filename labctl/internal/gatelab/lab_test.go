package gatelab

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/labctl/internal/provider"
)

// Where the user may not create CRDs nothing is installed, and nothing is tried.
func TestInstall_IsRefusedUpFrontWithoutARight(t *testing.T) {
	for _, denied := range []string{"customresourcedefinitions", "jobs"} {
		client := fake.NewClientset()
		client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			asked := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
			asked.Status.Allowed = asked.Spec.ResourceAttributes.Resource != denied
			return true, asked, nil
		})
		l := &Lab{Namespace: "n", client: client, Cluster: provider.Cluster{Provider: "existing"}, Say: func(what string) { t.Errorf("it said %q: something was begun", what) }}
		err := l.Install(t.Context(), fstest.MapFS{}, nil)
		var problem *provider.Problem
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), "the gate needs the right to create "+denied+", which this user has not on existing") || !strings.HasPrefix(problem.Hint, "labctl up ") {
			t.Errorf("got %v", err)
		}
		for _, a := range client.Actions() {
			if a.GetResource().Resource != "selfsubjectaccessreviews" {
				t.Errorf("it did %s %s", a.GetVerb(), a.GetResource().Resource)
			}
		}
	}
}

// TestFlow_HoweverFastMachinesAreMadeTheClusterHasATurn: with so few operations that they are all made before the first Job is seen,
// and with as many as fit.
func TestFlow_HoweverFastMachinesAreMadeTheClusterHasATurn(t *testing.T) {
	for _, operations := range []int{2, 20, 200} {
		for _, seenAfter := range []int{0, 3, 1000} { // asks until the first Job of a machine is seen
			o := Options{Operations: operations, Rest: 3 * time.Second}
			var f flow
			now, turns, machines := time.Unix(0, 0), 0, 0
			for ask := 0; ; ask++ {
				if ask > 5000 {
					t.Fatalf("%d operations, the first Job seen after %d asks: it never ends: %+v", operations, seenAfter, f)
				}
				now = now.Add(time.Second)
				if ask >= seenAfter { // all that was asked for is seen to begin and to end
					f.begun, f.finished, f.applied = machines, machines, turns
				}
				step := f.next(o, now)
				if step == allDone {
					break
				}
				switch step {
				case turnCluster:
					turns++
				case makeMachine:
					machines++
				}
			}
			if turns == 0 || machines == 0 || turns+machines != operations {
				t.Errorf("%d operations, the first Job seen after %d asks: %d of the cluster, %d of machines; want both, and the sum", operations, seenAfter, turns, machines)
			}
		}
	}
}
