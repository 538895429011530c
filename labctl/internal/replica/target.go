package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
)

// Target lets faults act on the pods of a Deployment.
type Target struct {
	Deployment Deployment
	Cluster    provider.Cluster
	// Signaler is nil where the provider can't signal processes.
	Signaler provider.Signaler
	// Silencer is nil where the provider can't silence them, and Stopper where it can't stop its API server.
	Silencer provider.Silencer
	Stopper  provider.ServerStopper
	// Latency is how late the API server's answers are made.
	Latency time.Duration
	// Version is what an upgrade leads to.
	Version Version
	// Config is the administrator's, for requests in a pod's name.
	Config *rest.Config
	// LeaseNamespace and Lease name the Lease.
	LeaseNamespace, Lease string
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
