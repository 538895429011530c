package existing

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/operator/api"
)

// LabelPrepared marks a namespace that somebody with more rights made for a lab: it is used, and never removed.
const LabelPrepared = "academy.example/prepared"

// annotationOwner names the lab that made the namespace.
const annotationOwner = "academy.example/owner"

// ensureNamespace makes the namespace, or makes sure that it may be used: this lab made it, or it was prepared.
func (r *record) ensureNamespace(ctx context.Context, client kubernetes.Interface, h home.Home) error {
	namespaces := client.CoreV1().Namespaces()
	found, err := namespaces.Get(ctx, r.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return r.makeNamespace(ctx, client, h)
	case apierrors.IsForbidden(err):
		return &provider.Problem{Err: fmt.Errorf("namespace %s may not be looked at (%w)", r.Namespace, err), Hint: "kubectl --context " + r.Context + " apply -n " + r.Namespace + " -f docs/student-role.yaml"}
	case err != nil:
		return fmt.Errorf("look for namespace %s: %w", r.Namespace, explain(named{name: r.Context, server: r.Server}, err))
	case found.DeletionTimestamp != nil:
		return &provider.Problem{Err: fmt.Errorf("namespace %s is being removed", r.Namespace), Hint: "kubectl --context " + r.Context + " wait --for=delete namespace/" + r.Namespace}
	case found.Annotations[annotationOwner] == r.Owner, found.Labels[LabelPrepared] == "true":
		return nil
	default:
		return &provider.Problem{Err: fmt.Errorf("namespace %s was there before and is not this lab's: nothing in it is touched", r.Namespace),
			Hint: "labctl up --provider existing --context " + r.Context + " --operator-image " + r.Image + " --namespace " + r.Namespace + "-lab"}
	}
}

func (r *record) makeNamespace(ctx context.Context, client kubernetes.Interface, h home.Home) error {
	// Written down first: if labctl dies after the next line, `down` still removes the namespace.
	r.Made = true
	if err := r.write(h); err != nil {
		return err
	}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: r.Namespace, Labels: map[string]string{api.LabelLab: "true"}, Annotations: map[string]string{annotationOwner: r.Owner},
	}}, metav1.CreateOptions{})
	if err == nil {
		return nil
	}
	r.Made = false
	if wrote := r.write(h); wrote != nil {
		return wrote
	}
	switch {
	case apierrors.IsForbidden(err):
		return &provider.Problem{Err: fmt.Errorf("namespace %s is not there, and you may not make it", r.Namespace),
			Hint: "kubectl --context " + r.Context + " create namespace " + r.Namespace + " && kubectl --context " + r.Context + " label namespace " + r.Namespace + " " + LabelPrepared + "=true"}
	case apierrors.IsInvalid(err):
		return &provider.Problem{Err: fmt.Errorf("%q is no name for a namespace", r.Namespace), Hint: "labctl up --provider existing --namespace " + DefaultNamespace}
	default:
		return fmt.Errorf("make namespace %s: %w", r.Namespace, err)
	}
}
