package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"academy.example/lab/operator/api"
)

// resources maps each kind in manifests/ to what the API calls it.
var resources = map[string]struct {
	schema.GroupVersionResource
	namespaced bool
}{
	"Namespace":                {schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
	"ServiceAccount":           {schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, true},
	"ConfigMap":                {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	"Role":                     {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, true},
	"RoleBinding":              {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, true},
	"Deployment":               {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
	"CustomResourceDefinition": {Definitions, false},
	"PodDisruptionBudget":      {schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, true},
}

// Definitions are the CRDs of a cluster.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Wanted is how the objects of the manifests are changed before they are applied; zero values change nothing.
type Wanted struct {
	// Namespace is where all of it goes. It must be there: the manifests' own is made only if none is named.
	Namespace string
	// Image, Command and Args are the operator's. Command is for nodes that run local programs: the path of another one.
	Image    string
	Command  []string
	Args     []string
	Replicas int
}

// Apply makes what manifests/kustomization.yaml lists. Of a Deployment that is there already nothing is changed, so that a
// student's own settings survive another `labctl up`.
func Apply(ctx context.Context, config *rest.Config, manifests fs.FS, want Wanted) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	objects, err := load(manifests)
	if err != nil {
		return err
	}
	if want.Namespace != "" {
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	}
	for _, object := range objects {
		if err := want.change(object); err != nil {
			return fmt.Errorf("change %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := apply(ctx, client, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// change makes one object as it is wanted.
func (w Wanted) change(object *unstructured.Unstructured) error {
	if w.Namespace != "" && resources[object.GetKind()].namespaced {
		object.SetNamespace(w.Namespace)
	}
	switch object.GetKind() {
	case "RoleBinding":
		return w.moveSubjects(object)
	case "Deployment":
		if err := unstructured.SetNestedField(object.Object, int64(w.Replicas), "spec", "replicas"); err != nil {
			return err
		}
		return w.changeOperator(object)
	}
	return nil
}

// moveSubjects names the other namespace wherever the binding names one.
func (w Wanted) moveSubjects(binding *unstructured.Unstructured) error {
	subjects, _, err := unstructured.NestedSlice(binding.Object, "subjects")
	if err != nil || w.Namespace == "" {
		return err
	}
	for _, s := range subjects {
		if subject, ok := s.(map[string]any); ok && subject["namespace"] != nil {
			subject["namespace"] = w.Namespace
		}
	}
	return unstructured.SetNestedSlice(binding.Object, subjects, "subjects")
}

// changeOperator gives the operator's container its image and arguments.
func (w Wanted) changeOperator(deployment *unstructured.Unstructured) error {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(deployment.Object, path...)
	if err != nil {
		return err
	}
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok || container["name"] != api.ContainerName {
			continue
		}
		if w.Image != "" {
			container["image"] = w.Image
		}
		if w.Command != nil {
			container["command"] = toAny(w.Command)
		}
		if w.Args != nil {
			container["args"] = toAny(w.Args)
		}
	}
	return unstructured.SetNestedSlice(deployment.Object, containers, path...)
}

func toAny(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

func apply(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	resource, known := resources[object.GetKind()]
	if !known {
		return fmt.Errorf("the kind is not in the table of replica/apply.go")
	}
	var target dynamic.ResourceInterface = client.Resource(resource.GroupVersionResource)
	if resource.namespaced {
		target = client.Resource(resource.GroupVersionResource).Namespace(object.GetNamespace())
	}
	if object.GetKind() == "Deployment" {
		_, err := target.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
	}
	_, err := target.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "labctl", Force: true})
	return err
}

// load reads the objects in the order of kustomization.yaml, the one list of what belongs to the lab.
func load(manifests fs.FS) ([]*unstructured.Unstructured, error) {
	data, err := fs.ReadFile(manifests, "kustomization.yaml")
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var list struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read kustomization.yaml: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range list.Resources {
		data, err := fs.ReadFile(manifests, name)
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
		found, err := decode(data)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// decode reads the documents of one file. All that is namespaced must name the lab's namespace itself.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) == 0 {
			continue
		}
		if r, known := resources[object.GetKind()]; known && r.namespaced && object.GetNamespace() != api.DefaultNamespace {
			return nil, fmt.Errorf("%s %s names namespace %q, want %s", object.GetKind(), object.GetName(), object.GetNamespace(), api.DefaultNamespace)
		}
		objects = append(objects, object)
	}
}
