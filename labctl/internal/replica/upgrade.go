package replica

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

// Version is an upgrade that a Target makes.
type Version struct {
	To string
	// Pace is how long a new replica must be ready before the next old one goes; in whole seconds.
	Pace time.Duration
}

// Upgrade gives the Deployment the version, and each new replica its pace. The pod goes first: its deletion costs less than that
// of the others.
func (t Target) Upgrade(ctx context.Context, pod fault.Pod) error {
	cost := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:"-1"}}}`, pod.UID, corev1.PodDeletionCost)
	_, err := t.Deployment.Client.CoreV1().Pods(t.Deployment.Namespace).Patch(ctx, pod.Name, types.MergePatchType, cost, metav1.PatchOptions{FieldManager: "labctl"})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err): // the UID is another pod's
		return fmt.Errorf("let pod %s go first: %w", pod.Name, fault.ErrGone)
	case err != nil:
		return fmt.Errorf("let pod %s go first: %w", pod.Name, err)
	}
	deployment, err := t.Deployment.get(ctx)
	if err != nil {
		return err
	}
	patch, err := patchPaced(setArg(operatorContainer(deployment).Args, api.FlagBinaryVersion, t.Version.To), t.Version.Pace)
	if err != nil {
		return err
	}
	return t.Deployment.patch(ctx, []byte(patch), "upgrade")
}

// endPace lets later rollouts be as quick as before.
func (d Deployment) endPace(ctx context.Context) error {
	return d.patch(ctx, []byte(`{"spec":{"minReadySeconds":0}}`), "end the waiting of")
}
