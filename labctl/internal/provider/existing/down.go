package existing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/operator/api"
)

// removeLimit bounds the wait for the pods to go: each may take its grace, and usually takes a second.
const removeLimit = 90 * time.Second

// workObject is the ConfigMap of manifests/work.yaml.
const workObject = "academy-work"

// Down leaves the cluster as it was found: a namespace that labctl made goes, in one that was prepared only the lab's own
// objects do.
func (p Provider) Down(ctx context.Context, name string, say func(string)) (found bool, err error) {
	h, err := home.New(name)
	if err != nil {
		return false, err
	}
	r, err := readRecord(h)
	if errors.Is(err, os.ErrNotExist) {
		return p.forgetClaim(h)
	}
	if err != nil {
		return true, &provider.Problem{Err: err, Hint: "rm -r " + h.State}
	}
	release, err := home.Guard(ctx, h.Lock, func() { say("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return true, err
	}
	defer func() { release(); h.Leave() }()
	client, err := r.client(h)
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	if err := r.remove(ctx, client, say); err != nil {
		if ctx.Err() == context.Canceled {
			return true, ctx.Err()
		}
		return true, &provider.Problem{Err: fmt.Errorf("namespace %s on %s is not as it was found yet: %w", r.Namespace, r.Server, err),
			Hint: "labctl down, or to give it up: rm -r " + h.State}
	}
	return true, h.Remove()
}

// forgetClaim removes the folder of a lab that never got as far as its record.
func (p Provider) forgetClaim(h home.Home) (bool, error) {
	if owner, err := h.Owner(); err != nil || owner != p.Name() {
		return false, err
	}
	defer h.Leave()
	return true, h.Remove()
}

func (r *record) remove(ctx context.Context, client kubernetes.Interface, say func(string)) error {
	namespaces := client.CoreV1().Namespaces()
	found, err := namespaces.Get(ctx, r.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case found.Labels[LabelPrepared] == "true":
		say("removing the lab's objects from namespace " + r.Namespace)
		return r.removeObjects(ctx, client)
	case found.Annotations[annotationOwner] != r.Owner:
		return nil // another one's of the same name; ours is gone
	}
	say("removing namespace " + r.Namespace)
	uid := found.UID
	err = namespaces.Delete(ctx, r.Namespace, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return until(ctx, func() (bool, error) {
		_, err := namespaces.Get(ctx, r.Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return true, nil
		}
		return false, nil
	})
}

// removeObjects removes what the manifests made, and the Lease, and waits for the pods.
func (r *record) removeObjects(ctx context.Context, client kubernetes.Interface) error {
	ns, options := r.Namespace, metav1.DeleteOptions{}
	background := metav1.DeletePropagationBackground
	name := api.DefaultName
	for _, remove := range []func() error{
		func() error {
			return client.AppsV1().Deployments(ns).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
		},
		func() error {
			return until(ctx, func() (bool, error) {
				pods, err := client.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: api.PodSelector})
				return err == nil && len(pods.Items) == 0, err
			})
		},
		func() error { return client.PolicyV1().PodDisruptionBudgets(ns).Delete(ctx, name, options) },
		func() error { return client.RbacV1().RoleBindings(ns).Delete(ctx, name, options) },
		func() error { return client.RbacV1().Roles(ns).Delete(ctx, name, options) },
		func() error { return client.CoreV1().ServiceAccounts(ns).Delete(ctx, name, options) },
		func() error { return client.CoreV1().ConfigMaps(ns).Delete(ctx, workObject, options) },
		func() error { return client.CoordinationV1().Leases(ns).Delete(ctx, name, options) },
	} {
		if err := remove(); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// until asks until it is so.
func until(ctx context.Context, so func() (bool, error)) error {
	for {
		if yes, err := so(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
