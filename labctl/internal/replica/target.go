package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
)

// Target lets faults act on the pods of a Deployment.
type Target struct {
	Deployment Deployment
	Cluster    provider.Cluster
	// Signaler is nil where the provider can't signal processes.
	Signaler provider.Signaler
	// Silencer is nil where the provider can't silence them.
	Silencer provider.Silencer
	// Killed is told at once that a process was reaped; nil where the node tells it.
	Killed func(fault.Pod)
}

var _ fault.Target = Target{}

// Delete asks the API server to delete the pod of that UID.
func (t Target) Delete(ctx context.Context, pod fault.Pod, force bool) error {
	uid := types.UID(pod.UID)
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if force {
		options.GracePeriodSeconds = new(int64)
	}
	err := t.Deployment.Client.CoreV1().Pods(t.Deployment.Namespace).Delete(ctx, pod.Name, options)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // the UID is another pod's
		return fmt.Errorf("delete pod %s: %w", pod.Name, fault.ErrGone)
	case err != nil:
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	default:
		return nil
	}
}

// Kill sends SIGKILL to the pod's process and returns when it was reaped.
func (t Target) Kill(ctx context.Context, pod fault.Pod) error {
	if t.Signaler == nil {
		return &provider.Problem{Err: fmt.Errorf("the provider %s can't signal a pod's process", t.Cluster.Provider), Hint: "labctl failover --mode force-delete"}
	}
	_, err := t.Signaler.Kill(ctx, t.Cluster, pod.UID)
	switch {
	case errors.Is(err, provider.ErrNotRunning):
		return fmt.Errorf("kill %s: %w: %w", pod.Name, fault.ErrGone, err)
	case err != nil:
		return fmt.Errorf("kill %s: %w", pod.Name, err)
	}
	if t.Killed != nil {
		t.Killed(pod)
	}
	return nil
}

// silences are the provider's words for the modes that silence.
var silences = map[fault.Mode]provider.Silence{fault.Freeze: provider.Freeze, fault.CutRefuse: provider.Refuse, fault.CutBlackHole: provider.BlackHole}

// Silence keeps the pod's process from being heard for a while.
func (t Target) Silence(ctx context.Context, m fault.Mode, pod fault.Pod, lasts time.Duration) error {
	if t.Silencer == nil {
		return &provider.Problem{Err: fmt.Errorf("the provider %s can't do %s", t.Cluster.Provider, m), Hint: "labctl failover --mode kill"}
	}
	object, err := t.Deployment.Client.CoreV1().Pods(t.Deployment.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && string(object.UID) != pod.UID {
		return fmt.Errorf("%s of pod %s: %w", m, pod.Name, fault.ErrGone)
	}
	if err != nil {
		return fmt.Errorf("%s of pod %s: %w", m, pod.Name, err)
	}
	err = t.Silencer.Silence(ctx, t.Cluster, provider.PodRef{UID: pod.UID, IP: object.Status.PodIP}, silences[m], lasts)
	switch {
	case errors.Is(err, provider.ErrNotRunning):
		return fmt.Errorf("%s of pod %s: %w: %w", m, pod.Name, fault.ErrGone, err)
	case err != nil:
		return fmt.Errorf("%s of pod %s: %w", m, pod.Name, err)
	default:
		return nil
	}
}

// Restore ends a silence.
func (t Target) Restore(ctx context.Context, m fault.Mode, pod fault.Pod) error {
	object, err := t.Deployment.Client.CoreV1().Pods(t.Deployment.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && string(object.UID) != pod.UID {
		return nil // it went with its pod
	}
	if err == nil {
		err = t.Silencer.Restore(ctx, t.Cluster, provider.PodRef{UID: pod.UID, IP: object.Status.PodIP}, silences[m])
	}
	if err != nil {
		return fmt.Errorf("end the %s of pod %s, which ends by itself soon: %w", m, pod.Name, err)
	}
	return nil
}
