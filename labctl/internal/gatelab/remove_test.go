package gatelab

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"academy.example/lab/labctl/internal/replica"
)

// kinds is a cluster with the CRD of machines, with labels.
func kinds(labels map[string]any) *Lab {
	d := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "terraformmachines.captf.io", "labels": labels}}}
	lists := map[schema.GroupVersionResource]string{replica.Definitions: "CustomResourceDefinitionList", named[0]: "DeploymentList"}
	return &Lab{Namespace: "n", Say: func(string) {}, objects: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, d)}
}

// What somebody else made is neither taken over nor removed.
func TestKinds_OfSomebodyElseStay(t *testing.T) {
	theirs := kinds(nil)
	if err := theirs.foreignKinds(t.Context()); err == nil || !strings.Contains(err.Error(), "TerraformMachine already") {
		t.Errorf("theirs: got %v", err)
	}
	if r, err := theirs.Remove(t.Context()); r.Found || err != nil {
		t.Errorf("theirs: got %+v, %v, want nothing found", r, err)
	}
	own := kinds(map[string]any{"academy.example/lab": "true"})
	if err := own.foreignKinds(t.Context()); err != nil {
		t.Errorf("own: got %v", err)
	}
	if found, err := own.ownKinds(t.Context()); len(found) != 1 || err != nil {
		t.Errorf("own: got %v, %v, want one kind", found, err)
	}
}
