package lab

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/manifests"
)

// TestInstallReadmission_RefusedUpFront: without one of the rights nothing is sent but questions.
func TestInstallReadmission_RefusedUpFront(t *testing.T) {
	for _, lacks := range []string{"customresourcedefinitions", "namespaces", "clusterqueues", "admissionchecks"} {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("without the right to %s: %s %s was sent", lacks, r.Method, r.URL.Path)
		}))
		client := fake.NewClientset()
		client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
			review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			review.Status.Allowed = review.Spec.ResourceAttributes.Resource != lacks
			return true, review, nil
		})
		l := &Lab{Client: client, config: &rest.Config{Host: server.URL}, Say: func(string) {}}
		err := l.InstallReadmission(t.Context(), manifests.Readmission)
		var problem *provider.Problem
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), "may not create "+lacks) || !strings.HasPrefix(problem.Hint, "labctl ") {
			t.Errorf("without the right to %s: got %v, want a refusal with a command", lacks, err)
		}
		server.Close()
	}
}

// TestReadmissionManifests_InTheOrderOfMaking: kinds first, and each object of a kind that can be made.
func TestReadmissionManifests_InTheOrderOfMaking(t *testing.T) {
	objects, err := readAll(manifests.Readmission)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetKind())
		if _, known := readmissionKinds[o.GetKind()]; !known {
			t.Errorf("%s %s can't be made", o.GetKind(), o.GetName())
		}
		if o.GetLabels()["academy.example/lab"] != "true" {
			t.Errorf("%s %s has not the label by which it is removed again", o.GetKind(), o.GetName())
		}
	}
	if got, want := strings.Join(kinds, " "), strings.Repeat("CustomResourceDefinition ", 3)+"Namespace AdmissionCheck ClusterQueue"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
