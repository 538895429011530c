// Package gatelab conducts the operation gate on a lab: it installs it, makes operations that get in each other's way, and tells from
// what the API server stored, in its order, whether two ran at once.
package gatelab

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

// Lab is a lab with the operation gate on it.
type Lab struct {
	Provider  provider.Provider
	Cluster   provider.Cluster
	Namespace string
	Say       func(string) // never nil

	config  *rest.Config
	client  kubernetes.Interface
	objects dynamic.Interface
}

// Open connects to a running lab.
func Open(p provider.Provider, c provider.Cluster, namespace string, say func(string)) (*Lab, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	l := &Lab{Provider: p, Cluster: c, Namespace: namespace, Say: say, config: config}
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", c.Name, err)
	}
	if l.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", c.Name, err)
	}
	return l, nil
}

// gate is the gate's API of the namespace, for looking.
func (l *Lab) gate() gate.Client {
	return gate.Client{Leases: l.client.CoordinationV1().Leases(l.Namespace), Jobs: l.client.BatchV1().Jobs(l.Namespace)}
}

// rights are what this user needs to install the gate.
func (l *Lab) rights() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "patch", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: l.Namespace},
		{Verb: "create", Group: "captf.io", Resource: "terraformmachines", Namespace: l.Namespace},
		{Verb: "create", Group: "batch", Resource: "jobs", Namespace: l.Namespace}, // nobody grants what they do not have
	}
}

// Able refuses a lab on which this user can't install the gate, before anything is changed.
func (l *Lab) Able(ctx context.Context) error {
	for _, right := range l.rights() {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		answer, err := l.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask for the right to %s %s: %w", right.Verb, right.Resource, err)
		}
		if !answer.Status.Allowed {
			return &provider.Problem{Err: fmt.Errorf("the gate needs the right to %s %s, which this user has not on %s", right.Verb, right.Resource, l.Cluster.Provider),
				Hint: "labctl up --name gate --provider embedded && labctl gate run --name gate"}
		}
	}
	return nil
}

// Install applies the gate's manifests with the manager's arguments and waits until one runs with them.
func (l *Lab) Install(ctx context.Context, manifests fs.FS, args []string) error {
	if err := l.Able(ctx); err != nil {
		return err
	}
	own, err := fs.Sub(manifests, "gate")
	if err != nil {
		return err
	}
	l.Say("applying the gate's manifests")
	args = append([]string{api.GateCommand}, args...)
	want := replica.Wanted{Namespace: l.Cluster.Namespace, Image: l.Cluster.OperatorImage, Args: args, Replicas: 1}
	if err := replica.Apply(ctx, l.config, own, want); err != nil {
		return err
	}
	if err := l.setArgs(ctx, args); err != nil {
		return err
	}
	return l.await(ctx, 90*time.Second, "a manager of the gate that leads", l.led)
}

// setArgs gives a Deployment that was there already the arguments: applying leaves it alone.
func (l *Lab) setArgs(ctx context.Context, args []string) error {
	deployments := l.client.AppsV1().Deployments(l.Namespace)
	d, err := deployments.Get(ctx, api.GateName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Deployment %s: %w", api.GateName, err)
	}
	c := &d.Spec.Template.Spec.Containers[0]
	if slices.Equal(c.Args, args) {
		return nil
	}
	c.Args = args
	if _, err = deployments.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("change the Deployment %s: %w", api.GateName, err)
	}
	return nil
}

// led reports whether the gate's Deployment is rolled out, and one of its pods holds the leader Lease.
func (l *Lab) led(ctx context.Context) (bool, error) {
	d, err := l.client.AppsV1().Deployments(l.Namespace).Get(ctx, api.GateName, metav1.GetOptions{})
	if err != nil || d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas {
		return false, err
	}
	pod, err := l.manager(ctx)
	return pod != nil, err
}

// manager is the pod that holds the leader Lease; nil if none does.
func (l *Lab) manager(ctx context.Context) (*podRef, error) {
	lease, err := l.client.CoordinationV1().Leases(l.Namespace).Get(ctx, api.GateName, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	pods, err := l.client.CoreV1().Pods(l.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + api.GateName})
	if err != nil {
		return nil, err
	}
	for _, p := range pods.Items {
		if h := lease.Spec.HolderIdentity; h != nil && p.DeletionTimestamp == nil && (*h == p.Name || len(*h) > len(p.Name) && (*h)[:len(p.Name)] == p.Name) {
			return &podRef{name: p.Name, uid: string(p.UID)}, nil
		}
	}
	return nil, nil
}

type podRef struct{ name, uid string }

// Clear removes every object of the gate and what belongs to it, while no manager runs. The finalizers are taken off: nothing is
// destroyed first.
func (l *Lab) Clear(ctx context.Context) error {
	if err := l.scale(ctx, 0); err != nil {
		return err
	}
	l.Say("removing what an earlier run left")
	if err := l.remove(ctx); err != nil {
		return err
	}
	if err := l.scale(ctx, 1); err != nil {
		return err
	}
	return l.await(ctx, 90*time.Second, "a manager of the gate that leads", l.led)
}

// scale sets how many managers there are; none is waited for.
func (l *Lab) scale(ctx context.Context, managers int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, managers)
	if _, err := l.client.AppsV1().Deployments(l.Namespace).Patch(ctx, api.GateName, mergePatch, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("scale the Deployment %s: %w", api.GateName, err)
	}
	if managers > 0 {
		return nil
	}
	return l.await(ctx, time.Minute, "the managers of the gate to go", func(ctx context.Context) (bool, error) {
		pods, err := l.client.CoreV1().Pods(l.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + api.GateName})
		return err == nil && len(pods.Items) == 0, err
	})
}

// remove deletes the objects, their Jobs and their leases.
func (l *Lab) remove(ctx context.Context) error {
	for _, kind := range gate.Kinds() {
		resource := l.of(kind)
		list, err := resource.List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list the objects of kind %s: %w", kind, err)
		}
		for _, o := range list.Items {
			if err := ignoreAbsent(resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})); err != nil {
				return err
			}
			if _, err := resource.Patch(ctx, o.GetName(), mergePatch, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); ignoreAbsent(err) != nil {
				return err
			}
		}
	}
	jobs, background := metav1.ListOptions{LabelSelector: gate.LabelKind}, metav1.DeletePropagationBackground
	if err := l.client.BatchV1().Jobs(l.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, jobs); err != nil {
		return fmt.Errorf("delete the Jobs: %w", err)
	}
	if err := l.client.CoordinationV1().Leases(l.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: gate.LabelManaged}); err != nil {
		return fmt.Errorf("delete the leases: %w", err)
	}
	return nil
}

// of is the API of one kind.
func (l *Lab) of(kind gate.Kind) dynamic.ResourceInterface {
	names := map[gate.Kind]string{gate.Cluster: "terraformclusters", gate.Machine: "terraformmachines", gate.MachinePool: "terraformmachinepools"}
	return l.objects.Resource(schema.GroupVersionResource{Group: "captf.io", Version: "v1alpha1", Resource: names[kind]}).Namespace(l.Namespace)
}

// put makes an object, or changes what is wanted of it.
func (l *Lab) put(ctx context.Context, kind gate.Kind, name string, spec map[string]any) error {
	if kind != gate.Cluster {
		spec["clusterName"] = clusterName
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "captf.io/v1alpha1", "kind": string(kind),
		"metadata": map[string]any{"name": name, "labels": map[string]any{api.LabelLab: "true"}}, "spec": spec}}
	_, err := l.of(kind).Apply(ctx, name, o, metav1.ApplyOptions{FieldManager: "labctl", Force: true})
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kind, name, err)
	}
	return nil
}

// clusterName is the one cluster that runs are about.
const clusterName = "c"

// await asks twice a second until it is so.
func (l *Lab) await(ctx context.Context, limit time.Duration, what string, so func(context.Context) (bool, error)) error {
	l.Say(fmt.Sprintf("waiting for %s (at most %s)", what, limit))
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, err := so(limited)
		if done && err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &provider.Problem{Err: fmt.Errorf("gave up after %s: waiting for %s", limit, what), Hint: "labctl gate status"}
		case <-time.After(500 * time.Millisecond):
		}
	}
}
