package gatelab

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

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
