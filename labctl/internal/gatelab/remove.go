package gatelab

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

const mergePatch = types.MergePatchType

// resources is what the API calls each kind.
var resources = map[gate.Kind]string{gate.Cluster: "terraformclusters", gate.Machine: "terraformmachines", gate.MachinePool: "terraformmachinepools"}

// named are the objects of the manifests that are called api.GateName, in the order in which they are deleted.
var named = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Version: "v1", Resource: "serviceaccounts"},
}

// Removed is what Remove found.
type Removed struct {
	Found bool `json:"found"` // anything at all
	// KindsStay is why the CRDs were left: "" if they were removed, or were not there.
	KindsStay string `json:"kindsStay"`
}

// Remove deletes what Install and the runs made, and nothing that lacks the lab's label: the manager first, then the objects with their
// Jobs and leases, then the CRDs, unless another namespace has objects of them. It is refused while another labctl is at work.
func (l *Lab) Remove(ctx context.Context) (r Removed, err error) {
	kinds, err := l.ownKinds(ctx)
	if err != nil {
		return r, err
	}
	deployed, err := l.own(ctx, named[0])
	if err != nil || len(kinds) == 0 && !deployed {
		return r, err
	}
	release, err := lab.Alone(l.Cluster, "removing the gate")
	if err != nil {
		return r, err
	}
	defer release()
	r.Found = true
	l.Say("removing the operation gate, its objects and its Jobs")
	err = l.do(ctx, "the gate to be deleted", func(ctx context.Context) error { return l.removeNamed(ctx, named[:1]) })
	if err == nil {
		err = l.managersGone(ctx)
	}
	if err == nil {
		err = l.do(ctx, "the gate's objects to be deleted", l.remove)
	}
	if err == nil {
		err = l.do(ctx, "the gate's rights to be deleted", func(ctx context.Context) error {
			err := l.client.CoordinationV1().Leases(l.Namespace).Delete(ctx, api.GateName, metav1.DeleteOptions{})
			return errors.Join(ignoreAbsent(err), l.removeNamed(ctx, named[1:]))
		})
	}
	if err == nil {
		r.KindsStay, err = l.removeKinds(ctx, kinds)
	}
	return r, err
}

// ownKinds are the gate's kinds whose CRDs are there and carry the lab's label. Who may not read them has not made them.
func (l *Lab) ownKinds(ctx context.Context) (kinds []gate.Kind, err error) {
	for _, kind := range gate.Kinds() {
		d, err := l.objects.Resource(replica.Definitions).Get(ctx, crd(kind), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		case err != nil:
			return nil, fmt.Errorf("read CRD %s: %w", crd(kind), err)
		case ours(d):
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// foreignKinds refuses a cluster that has one of the kinds from somebody else, before anything is changed.
func (l *Lab) foreignKinds(ctx context.Context) error {
	for _, kind := range gate.Kinds() {
		d, err := l.objects.Resource(replica.Definitions).Get(ctx, crd(kind), metav1.GetOptions{})
		if err == nil && !ours(d) {
			return &provider.Problem{Err: fmt.Errorf("this cluster has the kind %s already, and labctl did not make it: nothing was changed", kind),
				Hint: "labctl up --name gate --provider embedded && labctl gate run --name gate"}
		}
	}
	return nil // who may not read them is told so by the API server when they are applied
}

func crd(kind gate.Kind) string { return resources[kind] + ".captf.io" }

func ours(o *unstructured.Unstructured) bool { return o.GetLabels()[api.LabelLab] == "true" }

// own reports whether one of the named objects is there and carries the lab's label.
func (l *Lab) own(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	o, err := l.objects.Resource(resource).Namespace(l.Namespace).Get(ctx, api.GateName, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return false, nil
		}
		return false, fmt.Errorf("read %s %s: %w", resource.Resource, api.GateName, err)
	}
	return ours(o), nil
}

func (l *Lab) removeNamed(ctx context.Context, all []schema.GroupVersionResource) error {
	background := metav1.DeletePropagationBackground
	for _, resource := range all {
		is, err := l.own(ctx, resource)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		err = l.objects.Resource(resource).Namespace(l.Namespace).Delete(ctx, api.GateName, metav1.DeleteOptions{PropagationPolicy: &background})
		if ignoreAbsent(err) != nil {
			return fmt.Errorf("delete %s %s: %w", resource.Resource, api.GateName, err)
		}
	}
	return nil
}

// remove deletes the objects, their Jobs with their Secrets, and their leases. No manager may run.
func (l *Lab) remove(ctx context.Context) error {
	for _, kind := range gate.Kinds() {
		if err := removeAll(ctx, l.of(kind)); err != nil {
			return fmt.Errorf("delete the objects of kind %s: %w", kind, err)
		}
	}
	jobs, background := metav1.ListOptions{LabelSelector: gate.LabelKind}, metav1.DeletePropagationBackground
	if err := l.client.BatchV1().Jobs(l.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, jobs); err != nil {
		return fmt.Errorf("delete the Jobs: %w", err)
	}
	left, err := l.client.BatchV1().Jobs(l.Namespace).List(ctx, jobs)
	if err == nil && len(left.Items) > 0 {
		err = errors.New("they are on their way")
	}
	if err != nil {
		return fmt.Errorf("delete the Jobs: %w", err)
	}
	if err := l.client.CoreV1().Secrets(l.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, jobs); err != nil {
		return fmt.Errorf("delete the Secrets of the Jobs: %w", err)
	}
	if err := l.client.CoordinationV1().Leases(l.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: gate.LabelManaged}); err != nil {
		return fmt.Errorf("delete the leases: %w", err)
	}
	return nil
}

// removeAll deletes every object and takes its finalizers off. A kind that is not there has none.
func removeAll(ctx context.Context, resource dynamic.ResourceInterface) error {
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ignoreAbsent(err)
	}
	for _, o := range list.Items {
		if err := ignoreAbsent(resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})); err != nil {
			return err
		}
		if _, err := resource.Patch(ctx, o.GetName(), mergePatch, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); ignoreAbsent(err) != nil {
			return err
		}
	}
	return nil
}

// removeKinds deletes the CRDs and waits until they are gone, unless another namespace has objects of them.
func (l *Lab) removeKinds(ctx context.Context, kinds []gate.Kind) (stay string, err error) {
	for _, kind := range kinds {
		list, err := l.objects.Resource(l.resource(kind)).List(ctx, metav1.ListOptions{})
		if ignoreAbsent(err) != nil {
			return "", fmt.Errorf("list the objects of kind %s in all namespaces: %w", kind, err)
		}
		if err == nil && len(list.Items) > 0 {
			return fmt.Sprintf("the CRDs stay: namespace %s has a %s", list.Items[0].GetNamespace(), kind), nil
		}
	}
	for _, kind := range kinds {
		err := l.await(ctx, time.Minute, "CRD "+crd(kind)+" to go", func(ctx context.Context) (bool, error) {
			err := l.objects.Resource(replica.Definitions).Delete(ctx, crd(kind), metav1.DeleteOptions{})
			return apierrors.IsNotFound(err), ignoreAbsent(err)
		})
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// resource is what the API calls a kind.
func (l *Lab) resource(kind gate.Kind) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "captf.io", Version: "v1alpha1", Resource: resources[kind]}
}
