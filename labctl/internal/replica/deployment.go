// Package replica owns the operator's replicas on a cluster: applying its manifests, scaling, reading and changing its
// settings, waiting until it is ready, and doing to its pods what a fault asks for.
package replica

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// Deployment is the operator on one cluster.
type Deployment struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string
	// Foreign is whether it is somebody else's operator, whose settings are not in arguments that the lab knows.
	Foreign bool
}

// State is what the API says of the Deployment.
type State struct {
	Replicas int `json:"replicas"` // wanted
	Ready    int `json:"ready"`
	// Settled is whether exactly the wanted replicas run, all of the newest revision and ready, none terminating.
	Settled  bool         `json:"settled"`
	Settings Settings     `json:"settings"`
	Args     []string     `json:"-"` // of the operator
	Command  []string     `json:"-"` // what runs in its place; empty for what its image runs
	Image    string       `json:"-"`
	Pods     []corev1.Pod `json:"-"`
	Selector string       `json:"-"`
}

func (d Deployment) get(ctx context.Context) (*appsv1.Deployment, error) {
	deployment, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		hint := "labctl up"
		if d.Foreign {
			hint = "kubectl get deployments -A"
		}
		return nil, &provider.Problem{Err: fmt.Errorf("there is no Deployment %s/%s", d.Namespace, d.Name), Hint: hint}
	}
	if err != nil {
		return nil, fmt.Errorf("read Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	return deployment, nil
}

// State reads the Deployment and its pods.
func (d Deployment) State(ctx context.Context) (State, error) {
	deployment, err := d.get(ctx)
	if err != nil {
		return State{}, err
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return State{}, fmt.Errorf("read the selector of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	pods, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return State{}, fmt.Errorf("list the pods of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	s := State{Replicas: replicasOf(deployment), Pods: pods.Items, Selector: selector.String()}
	if !d.Foreign {
		if s.Settings, err = settingsOf(deployment); err != nil {
			return State{}, err
		}
		c := operatorContainer(deployment)
		s.Args, s.Command, s.Image = c.Args, c.Command, c.Image
	}
	for _, p := range pods.Items {
		if Ready(&p) {
			s.Ready++
		}
	}
	status := deployment.Status
	s.Settled = status.ObservedGeneration >= deployment.Generation && int(status.UpdatedReplicas) == s.Replicas &&
		int(status.Replicas) == s.Replicas && s.Ready == s.Replicas && len(pods.Items) == s.Replicas
	return s, nil
}

func replicasOf(d *appsv1.Deployment) int {
	if d.Spec.Replicas == nil {
		return 1
	}
	return int(*d.Spec.Replicas)
}

// Ready reports whether a pod is ready and not on its way out.
func Ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Scale sets the number of replicas.
func (d Deployment) Scale(ctx context.Context, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return d.patch(ctx, patch, "scale")
}

// Set makes the change, all of it in one patch. Kubernetes rolls the replicas over; if nothing differs, nothing is written.
func (d Deployment) Set(ctx context.Context, c Change) (Changed, error) {
	deployment, err := d.get(ctx)
	if err != nil {
		return Changed{}, err
	}
	before, err := settingsOf(deployment)
	if err != nil {
		return Changed{}, err
	}
	after := c.On(before)
	done := Changed{Before: before, After: after, Differences: before.Differences(after)}
	if len(done.Differences) == 0 {
		return done, nil
	}
	if err := api.CheckLoss(after.Election, after.OnLoss); err != nil {
		return done, &provider.Problem{Err: fmt.Errorf("%v", err), Hint: "labctl operator set --election guarded --on-loss " + after.OnLoss} // the error's own hint is one for the operator
	}
	if done.Patch, err = patchArgs(rewrite(operatorContainer(deployment).Args, before, after)); err != nil {
		return done, err
	}
	done.Back = Undo(done.Differences)
	if !before.settable() {
		done.Back = fmt.Sprintf("kubectl -n %s rollout undo deployment %s", d.Namespace, d.Name)
	}
	return done, d.patch(ctx, []byte(done.Patch), "change the settings of")
}

func (d Deployment) patch(ctx context.Context, patch []byte, what string) error {
	_, err := d.Client.AppsV1().Deployments(d.Namespace).Patch(ctx, d.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "labctl"})
	if apierrors.IsNotFound(err) {
		return &provider.Problem{Err: fmt.Errorf("there is no Deployment %s/%s", d.Namespace, d.Name), Hint: "labctl up"}
	}
	if err != nil {
		return fmt.Errorf("%s Deployment %s/%s: %w", what, d.Namespace, d.Name, err)
	}
	return nil
}
