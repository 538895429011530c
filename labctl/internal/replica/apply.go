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
	"Namespace":           {schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
	"ServiceAccount":      {schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, true},
	"ConfigMap":           {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	"Role":                {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, true},
	"RoleBinding":         {schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, true},
	"Deployment":          {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, true},
	"PodDisruptionBudget": {schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, true},
}

// Apply makes what manifests/kustomization.yaml lists, with the given number of replicas. Of a Deployment that is there
// already nothing is changed, so that a student's own settings survive another `labctl up`.
func Apply(ctx context.Context, config *rest.Config, manifests fs.FS, replicas int) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	objects, err := load(manifests)
	if err != nil {
		return err
	}
	return applyAll(ctx, client, objects, replicas)
}

// ApplyIn makes the same in another namespace, with the replicas and the operator's arguments of the given state.
func ApplyIn(ctx context.Context, config *rest.Config, manifests fs.FS, namespace string, like State) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	objects, err := load(manifests)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	for _, object := range objects {
		if err := move(object, namespace, like.Args); err != nil {
			return fmt.Errorf("move %s %s to namespace %s: %w", object.GetKind(), object.GetName(), namespace, err)
		}
	}
	return applyAll(ctx, client, objects, like.Replicas)
}

func applyAll(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured, replicas int) error {
	for _, object := range objects {
		if err := apply(ctx, client, object, replicas); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// move names another namespace wherever the object names one, and gives the operator other arguments.
func move(object *unstructured.Unstructured, namespace string, args []string) error {
	object.SetNamespace(namespace)
	switch object.GetKind() {
	case "RoleBinding":
		subjects, _, err := unstructured.NestedSlice(object.Object, "subjects")
		if err != nil {
			return err
		}
		for _, s := range subjects {
			if subject, ok := s.(map[string]any); ok && subject["namespace"] != nil {
				subject["namespace"] = namespace
			}
		}
		return unstructured.SetNestedSlice(object.Object, subjects, "subjects")
	case "Deployment":
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(object.Object, path...)
		if err != nil {
			return err
		}
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok && container["name"] == api.ContainerName {
				container["args"] = toAny(args)
			}
		}
		return unstructured.SetNestedSlice(object.Object, containers, path...)
	}
	return nil
}

func toAny(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

func apply(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured, replicas int) error {
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
		if err := unstructured.SetNestedField(object.Object, int64(replicas), "spec", "replicas"); err != nil {
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
