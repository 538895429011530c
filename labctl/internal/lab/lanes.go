package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/check"
)

// Bounds of the end of lanes. What runs in them is not measured any more, so its pods get no grace to speak of.
const (
	removeLimit = 45 * time.Second
	laneGrace   = int64(1) // seconds
	laneLeaves  = time.Minute
)

// lanes lists the namespaces of lanes. Who may not look at namespaces has made none.
func (l *Lab) lanes(ctx context.Context) ([]corev1.Namespace, error) {
	list, err := l.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: labelLane})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the lanes: %w", err)
	}
	return list.Items, nil
}

// staying names those of the namespaces whose removal nobody has asked for.
func staying(lanes []corev1.Namespace) (names []string) {
	for _, n := range lanes {
		if n.DeletionTimestamp == nil {
			names = append(names, n.Name)
		}
	}
	return names
}

// dropNamespaces asks for the end of lanes and does not wait for it.
func (l *Lab) dropNamespaces(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		grace := laneGrace
		err := l.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		if err == nil { // no pod is made in it any more
			err = l.Client.CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("remove lane %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// dropLane asks for the end of the lane of that number.
func (l *Lab) dropLane(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	if err := l.dropNamespaces(ctx, laneNamespace(fmt.Sprint(number))); err != nil {
		l.Say(err.Error())
	}
}

// endLanes removes every lane at the end of a run, whatever ended it. Who interrupted it does not wait.
func (l *Lab) endLanes(ctx context.Context) {
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	var err error
	if ctx.Err() == nil {
		err = l.removeLanes(removing)
	} else {
		var lanes []corev1.Namespace
		if lanes, err = l.lanes(removing); err == nil {
			err = l.dropNamespaces(removing, staying(lanes)...)
		}
	}
	if err != nil {
		l.Say("the lanes were not removed: " + err.Error() + " (labctl reset removes them)")
	}
}

// RemoveLanes removes the lanes that a labctl left, and waits until they are gone. No other labctl may be at work.
func (l *Lab) RemoveLanes(ctx context.Context) error {
	release, err := alone(l.Cluster, "removing lanes")
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	return l.removeLanes(ctx)
}

// removeLanes removes every lane's namespace and waits until they are gone.
func (l *Lab) removeLanes(ctx context.Context) error {
	for said := false; ; {
		lanes, err := l.lanes(ctx)
		if err != nil || len(lanes) == 0 {
			return err
		}
		if !said {
			said = true
			l.Say("removing the lanes")
		}
		if err := l.dropNamespaces(ctx, staying(lanes)...); err != nil {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// lanesLeft finds namespaces of lanes that no labctl uses.
func (l *Lab) lanesLeft(ctx context.Context) check.Check {
	lanes, err := l.lanes(ctx)
	if err != nil {
		return verdictOf("lanes", err, "")
	}
	if len(lanes) == 0 {
		return check.Check{Name: "lanes", Verdict: check.Pass, Reason: "no replicas of a measurement are left"}
	}
	slow := slices.ContainsFunc(lanes, func(n corev1.Namespace) bool {
		return n.DeletionTimestamp != nil && time.Since(n.DeletionTimestamp.Time) > laneLeaves
	})
	names := staying(lanes)
	release, busy := alone(l.Cluster, "looking for lanes")
	if busy == nil {
		release()
	}
	switch {
	case slow:
		return check.Check{Name: "lanes", Verdict: check.Fail, Reason: fmt.Sprintf("lanes have been on their way out for more than %s", laneLeaves), Hint: "kubectl get namespaces,pods -A"}
	case len(names) == 0:
		return check.Check{Name: "lanes", Verdict: check.Pass, Reason: "lanes of a measurement are being removed"}
	case busy != nil:
		return check.Check{Name: "lanes", Verdict: check.Pass, Reason: strings.Join(names, ", ") + ": " + busy.Error()}
	default:
		return check.Check{Name: "lanes", Verdict: check.Fail, Reason: "an earlier labctl was killed and left " + strings.Join(names, ", "), Hint: "labctl reset"}
	}
}
