package replica

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

// labelFault marks what a mode left on the cluster, so that the next command finds it.
const labelFault = "academy.example/fault"

// markFence marks each work object. A foreign operator has none.
func (d Deployment) markFence(ctx context.Context) error {
	return d.eachWork(ctx, api.LabelWork+"=true", fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, labelFault, fault.DeleteLease))
}

// ClearFence does for a Lease that somebody else deleted what LiftFence does for the mode's own.
func (d Deployment) ClearFence(ctx context.Context) error {
	if err := d.markFence(ctx); err != nil {
		return err
	}
	_, err := d.LiftFence(ctx)
	return err
}

// restampedWithin is how long it takes for a leader of the old count that still works to put its stamp back: a few of its ticks.
const restampedWithin = 5 * api.WorkTick

// LiftFence removes the stamps of the old count from the work objects that DeleteLease marked, again while a leader of that
// count puts them back, and then the marks. An error leaves the marks to the next try.
func (d Deployment) LiftFence(ctx context.Context) (found bool, err error) {
	marked := labelFault + "=" + string(fault.DeleteLease)
	old, err := d.stamps(ctx, marked)
	if err != nil || len(old) == 0 {
		return false, err
	}
	for again := true; again; {
		if err := d.eachWork(ctx, marked, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, api.AnnotationTransition)); err != nil {
			return true, err
		}
		select {
		case <-time.After(restampedWithin):
		case <-ctx.Done():
			return true, fmt.Errorf("a leader of the old count still puts its stamp on the work objects: %w", ctx.Err())
		}
		now, err := d.stamps(ctx, marked)
		if err != nil {
			return true, err
		}
		again = false
		for name, stamp := range now {
			again = again || old[name] > 0 && stamp >= old[name]
		}
	}
	return true, d.eachWork(ctx, marked, fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, labelFault))
}

// stamps are the transitions on the work objects that are selected, by name; 0 for an object without one.
func (d Deployment) stamps(ctx context.Context, selector string) (map[string]int, error) {
	list, err := d.Client.CoreV1().ConfigMaps(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list the work objects: %w", err)
	}
	stamps := map[string]int{}
	for _, o := range list.Items {
		stamps[o.Name], _ = strconv.Atoi(o.Annotations[api.AnnotationTransition]) // what is no number stops nobody
	}
	return stamps, nil
}

// eachWork patches the work objects that are selected.
func (d Deployment) eachWork(ctx context.Context, selector string, patch []byte) error {
	if d.Foreign {
		return nil
	}
	objects := d.Client.CoreV1().ConfigMaps(d.Namespace)
	list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("list the work objects: %w", err)
	}
	for _, o := range list.Items {
		if _, err := objects.Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "labctl"}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("change ConfigMap %s/%s: %w", d.Namespace, o.Name, err)
		}
	}
	return nil
}
