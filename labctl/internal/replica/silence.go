package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
)

// silences are the provider's words for the modes that it does.
var silences = map[fault.Mode]provider.Silence{fault.Freeze: provider.Freeze, fault.CutRefuse: provider.Refuse, fault.CutBlackHole: provider.BlackHole,
	fault.Slow: provider.Slow}

// Silence keeps the pod's process from being heard for a while.
func (t Target) Silence(ctx context.Context, m fault.Mode, pod fault.Pod, lasts time.Duration) error {
	slower, slows := t.Silencer.(provider.Slower)
	if t.Silencer == nil && silences[m] != "" || !slows && m == fault.Slow || t.Stopper == nil && m == fault.APIDown {
		return &provider.Problem{Err: fmt.Errorf("the provider %s can't do %s", t.Cluster.Provider, m), Hint: "labctl failover --mode kill"}
	}
	object, err := t.pod(ctx, pod)
	if err != nil {
		return fmt.Errorf("%s of pod %s: %w", m, pod.Name, err)
	}
	switch m {
	case fault.APIDown:
		err = t.Stopper.StopServer(ctx, t.Cluster, lasts)
	case fault.Deny:
		err = t.deny(ctx, object, lasts)
	case fault.Slow:
		err = slower.Slow(ctx, t.Cluster, provider.PodRef{UID: pod.UID, IP: object.Status.PodIP}, t.Latency, lasts)
	default:
		err = t.Silencer.Silence(ctx, t.Cluster, provider.PodRef{UID: pod.UID, IP: object.Status.PodIP}, silences[m], lasts)
	}
	switch {
	case errors.Is(err, provider.ErrNotRunning):
		return fmt.Errorf("%s of pod %s: %w: %w", m, pod.Name, fault.ErrGone, err)
	case err != nil:
		return fmt.Errorf("%s of pod %s: %w", m, pod.Name, err)
	default:
		return nil
	}
}

// pod reads a pod. The error wraps ErrGone if another one has its name by now.
func (t Target) pod(ctx context.Context, pod fault.Pod) (*corev1.Pod, error) {
	object, err := t.Deployment.Client.CoreV1().Pods(t.Deployment.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && string(object.UID) != pod.UID {
		return nil, fault.ErrGone
	}
	return object, err
}

// Restore ends what a mode did, and removes what it left behind.
func (t Target) Restore(ctx context.Context, m fault.Mode, pod fault.Pod) error {
	switch m {
	case fault.Upgrade:
		return t.Deployment.endPace(ctx)
	case fault.APIDown:
		return t.Stopper.ResumeServer(ctx, t.Cluster)
	case fault.Deny:
		return t.Deployment.allow(ctx, denyName(t.Deployment.Namespace, pod.Name))
	case fault.DeleteLease:
		_, err := t.Deployment.LiftFence(ctx)
		return err
	}
	object, err := t.pod(ctx, pod)
	if errors.Is(err, fault.ErrGone) {
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
