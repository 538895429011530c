package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/readmission"
)

// served is how long a new kind may take to be served, and servedLook how often it is tried.
const served, servedLook = 15 * time.Second, 200 * time.Millisecond

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// readmissionKinds maps each kind of the manifests to what the API calls it. All of them belong to no namespace.
var readmissionKinds = map[string]schema.GroupVersionResource{"CustomResourceDefinition": replica.Definitions, "Namespace": namespaces,
	"ClusterQueue": readmission.ClusterQueues, "AdmissionCheck": readmission.AdmissionChecks}

// Gate is the readmission gate of the lab's cluster, as its manifests name things.
func (l *Lab) Gate() (readmission.Gate, error) {
	kueue, err := l.Kueue()
	return readmission.Gate{Kueue: kueue, Leases: l.Client.CoordinationV1(), Queue: readmission.Queue, Check: readmission.Check,
		Controller: readmission.Controller, LeaseNamespace: readmission.LeaseNamespace, LeaseName: readmission.LeaseName}, err
}

// Kueue is a client for kinds that labctl does not know.
func (l *Lab) Kueue() (dynamic.Interface, error) {
	client, err := dynamic.NewForConfig(l.config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// InstallReadmission makes what the manifests hold. It is refused up front, before anything is made, where the user may not
// make new kinds, and where a real Kueue is.
func (l *Lab) InstallReadmission(ctx context.Context, manifests fs.FS) error {
	objects, err := readAll(manifests)
	if err != nil {
		return err
	}
	if err := l.mayDefine(ctx); err != nil {
		return err
	}
	client, err := l.Kueue()
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if there, ours, err := owned(ctx, client, replica.Definitions, o.GetName()); err != nil || there && !ours {
			return errors.Join(err, foreignKueue(there && !ours))
		}
	}
	for _, o := range objects {
		l.Say(fmt.Sprintf("applying %s %s", o.GetKind(), o.GetName()))
		if err := applyServed(ctx, client, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

func foreignKueue(is bool) error {
	if !is {
		return nil
	}
	return &provider.Problem{Err: fmt.Errorf("this cluster has Kueue's kinds already, and labctl did not make them: nothing was changed"), Hint: "labctl up --name other"}
}

// mayDefine asks for the rights that are needed, one by one.
func (l *Lab) mayDefine(ctx context.Context) error {
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: replica.Definitions.Group, Resource: replica.Definitions.Resource}, {Verb: "patch", Group: replica.Definitions.Group, Resource: replica.Definitions.Resource},
		{Verb: "create", Resource: namespaces.Resource},
		{Verb: "create", Group: readmission.Group, Resource: readmission.ClusterQueues.Resource}, {Verb: "create", Group: readmission.Group, Resource: readmission.AdmissionChecks.Resource},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		answer, err := l.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask whether kinds may be made: %w", err)
		}
		if !answer.Status.Allowed {
			return &provider.Problem{Err: fmt.Errorf("the readmission gate needs kinds of its own, and this user may not %s %s: nothing was changed", right.Verb, right.Resource),
				Hint: "labctl up --provider embedded --name other"}
		}
	}
	return nil
}

// owned reports whether an object is there, and whether it carries the lab's label.
func owned(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, name string) (there, ours bool, err error) {
	object, err := client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("read %s %s: %w", resource.Resource, name, err)
	}
	return true, object.GetLabels()[api.LabelLab] == "true", nil
}

// applyServed applies an object, of a new kind as soon as that is served.
func applyServed(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	resource, known := readmissionKinds[object.GetKind()]
	if !known {
		return errors.New("the kind is not in the table of lab/readmission.go")
	}
	for deadline := time.Now().Add(served); ; {
		_, err := client.Resource(resource).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "labctl", Force: true})
		if !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(servedLook):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// RemoveReadmission deletes what InstallReadmission made, the jobs with it, and nothing that lacks the lab's label. removed is
// whether anything was there.
func (l *Lab) RemoveReadmission(ctx context.Context, manifests fs.FS) (removed bool, err error) {
	objects, err := readAll(manifests)
	if err != nil {
		return false, err
	}
	client, err := l.Kueue()
	if err != nil {
		return false, err
	}
	slices.Reverse(objects) // a kind goes last, since its objects go with it
	for _, o := range objects {
		resource := readmissionKinds[o.GetKind()]
		there, ours, err := owned(ctx, client, resource, o.GetName())
		if err != nil {
			return removed, err
		}
		if !there || !ours {
			continue
		}
		l.Say(fmt.Sprintf("deleting %s %s", o.GetKind(), o.GetName()))
		if err := client.Resource(resource).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return removed, fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		removed = true
	}
	return removed, nil
}

// readAll reads every object of the manifests, in the order of the files' names.
func readAll(manifests fs.FS) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	err := fs.WalkDir(manifests, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(manifests, path)
		if err != nil {
			return err
		}
		for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(data)), len(data)+1); ; {
			o := &unstructured.Unstructured{}
			err := decoder.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			if len(o.Object) > 0 {
				objects = append(objects, o)
			}
		}
	})
	return objects, err
}
