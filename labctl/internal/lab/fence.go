package lab

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// unfenced returns an error with the way out if a work object carries a later transition than the Lease: a leader does not
// write on it then, since it takes itself for an old one. A Lease that was deleted counts from 0 again and leads to that.
func (l *Lab) unfenced(ctx context.Context) error {
	state, err := l.state(ctx)
	if err != nil {
		return err
	}
	lease, err := l.Lease(ctx, state.Settings.LeaseName)
	if err != nil || lease == nil {
		return err
	}
	objects, err := l.Client.CoreV1().ConfigMaps(l.Deployment.Namespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelWork + "=true"})
	if err != nil {
		return fmt.Errorf("list the work objects: %w", err)
	}
	for _, o := range objects.Items {
		written, err := strconv.Atoi(o.Annotations[api.AnnotationTransition])
		if err != nil || written <= lease.Transitions {
			continue // it was never written, or by this leader or an earlier one
		}
		return &provider.Problem{
			Err: fmt.Errorf("the leader's writes on ConfigMap %s are refused: it was written at transition %d, and the Lease counts %d; that is so after a Lease was deleted, which counts from 0 again",
				o.Name, written, lease.Transitions),
			Hint: fmt.Sprintf("kubectl -n %s annotate configmap %s %s-", o.Namespace, o.Name, api.AnnotationTransition)}
	}
	return nil
}

// works is doctor's question whether the leader can work.
func (l *Lab) works(ctx context.Context) check.Check {
	return verdictOf("work", l.unfenced(ctx), "the work objects carry no later transition than the Lease, so the leader can write")
}
