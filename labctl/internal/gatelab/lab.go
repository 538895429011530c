// Package gatelab conducts the operation gate on a lab: it installs it, makes operations that get in each other's way, and tells from
// what the API server stored, in its order, whether two ran at once.
package gatelab

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

// Lab is a lab with the operation gate on it.
type Lab struct {
	Cluster   provider.Cluster
	Namespace string
	Say       func(string) // never nil

	lab     *lab.Lab
	config  *rest.Config
	client  kubernetes.Interface // each request of it, and of objects, is bounded by requestLimit
	objects dynamic.Interface
	watcher kubernetes.Interface // without a bound: watches stay open
}

// requestLimit bounds each request, so that an API server that hangs makes no command hang.
const requestLimit = 10 * time.Second

// Open connects to a running lab, in the namespace of its operator.
func Open(on *lab.Lab) (*Lab, error) {
	config, err := on.Cluster.Config()
	if err != nil {
		return nil, err
	}
	l := &Lab{Cluster: on.Cluster, Namespace: on.Deployment.Namespace, Say: on.Say, lab: on, client: on.Client}
	if l.watcher, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", on.Cluster.Name, err)
	}
	l.config = rest.CopyConfig(config)
	l.config.Timeout = requestLimit
	if l.objects, err = dynamic.NewForConfig(l.config); err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", on.Cluster.Name, err)
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
	if err := l.foreignKinds(ctx); err != nil {
		return err
	}
	own, err := fs.Sub(manifests, "gate")
	if err != nil {
		return err
	}
	l.Say("applying the gate's manifests")
	args = append([]string{api.GateCommand}, args...)
	want := replica.Wanted{Namespace: l.Cluster.Namespace, Image: l.Cluster.OperatorImage, Args: args, Replicas: 1}
	err = l.do(ctx, "the gate's manifests to be applied", func(ctx context.Context) error {
		if err := replica.Apply(ctx, l.config, own, want); err != nil {
			return err
		}
		return l.setArgs(ctx, args)
	})
	if err != nil {
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

// noted is the annotation of the manager's Deployment that says when a scenario was last done as it has to be, by the clock of whoever did it.
const noted = "academy.example/gate-done-"

// Note writes down that a scenario was done as it has to be.
func (l *Lab) Note(ctx context.Context, scenario string, now time.Time) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, noted+scenario, now.UTC().Format(time.RFC3339))
	_, err := l.client.AppsV1().Deployments(l.Namespace).Patch(ctx, api.GateName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("note on the Deployment %s that %s was done: %w", api.GateName, scenario, err)
	}
	return nil
}

// Done tells when each scenario was last done as it has to be; none if the gate is not installed.
func Done(ctx context.Context, client kubernetes.Interface, namespace string) (map[string]time.Time, error) {
	d, err := client.AppsV1().Deployments(namespace).Get(ctx, api.GateName, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreAbsent(err)
	}
	done := map[string]time.Time{}
	for key, value := range d.Annotations {
		scenario, ours := strings.CutPrefix(key, noted)
		if at, err := time.Parse(time.RFC3339, value); ours && err == nil {
			done[scenario] = at
		}
	}
	return done, nil
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
	if err := l.do(ctx, "what an earlier run left to go", l.remove); err != nil {
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
	err := l.do(ctx, "the gate's manager to be scaled", func(ctx context.Context) error {
		_, err := l.client.AppsV1().Deployments(l.Namespace).Patch(ctx, api.GateName, mergePatch, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("scale the Deployment %s: %w", api.GateName, err)
	}
	if managers > 0 {
		return nil
	}
	return l.managersGone(ctx)
}

// managersGone waits until no pod of the manager is left.
func (l *Lab) managersGone(ctx context.Context) error {
	return l.await(ctx, time.Minute, "the managers of the gate to go", func(ctx context.Context) (bool, error) {
		pods, err := l.client.CoreV1().Pods(l.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + api.GateName})
		return err == nil && len(pods.Items) == 0, err
	})
}

// of is the API of one kind.
func (l *Lab) of(kind gate.Kind) dynamic.ResourceInterface {
	return l.objects.Resource(l.resource(kind)).Namespace(l.Namespace)
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

// want is put, tried again until it is so.
func (l *Lab) want(ctx context.Context, kind gate.Kind, name string, spec map[string]any) error {
	return l.do(ctx, fmt.Sprintf("%s %s to be written", kind, name), func(ctx context.Context) error { return l.put(ctx, kind, name, spec) })
}

// clusterName is the one cluster that runs are about.
const clusterName = "c"

// await asks twice a second until it is so, or the limit is reached, or the lab is gone.
func (l *Lab) await(ctx context.Context, limit time.Duration, what string, so func(context.Context) (bool, error)) error {
	return l.lab.Wait(ctx, limit, func(ctx context.Context) (bool, string, error) {
		is, err := so(ctx)
		return is, "waiting for " + what, err
	})
}

// doLimit is for how long something that fails is tried again: an API server that was killed is back within seconds.
const doLimit = time.Minute

// do does something that may be done twice, and tries it again unless the API server refuses it.
func (l *Lab) do(ctx context.Context, what string, act func(context.Context) error) error {
	return l.await(ctx, doLimit, what, func(ctx context.Context) (bool, error) {
		err := act(ctx)
		if refused(err) {
			err = &provider.Problem{Err: err, Hint: "labctl doctor"}
		}
		return err == nil, err
	})
}

// refused reports whether the API server has answered no, which asking again does not change.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsUnauthorized(err)
}

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
