// Package replica owns the operator's replicas on a cluster: applying its manifests, scaling, reading and changing its
// settings, waiting until it is ready, and doing to its pods what a fault asks for.
package replica

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
}

// State is what the API says of the Deployment.
type State struct {
	Replicas int `json:"replicas"` // wanted
	Ready    int `json:"ready"`
	// Settled is whether exactly the wanted replicas run, all of the newest revision and ready, none terminating.
	Settled  bool         `json:"settled"`
	Settings Settings     `json:"settings"`
	Pods     []corev1.Pod `json:"-"`
	Selector string       `json:"-"`
}

// State reads the Deployment and its pods.
func (d Deployment) State(ctx context.Context) (State, error) {
	deployment, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return State{}, &provider.Problem{Err: fmt.Errorf("there is no Deployment %s/%s", d.Namespace, d.Name), Hint: "labctl up"}
	}
	if err != nil {
		return State{}, fmt.Errorf("read Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return State{}, fmt.Errorf("read the selector of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	pods, err := d.Client.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return State{}, fmt.Errorf("list the pods of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	settings, err := settingsOf(deployment)
	if err != nil {
		return State{}, err
	}
	s := State{Replicas: replicasOf(deployment), Settings: settings, Pods: pods.Items, Selector: selector.String()}
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

// SetTiming gives the operator other durations. Kubernetes rolls the replicas over if that changes anything.
func (d Deployment) SetTiming(ctx context.Context, t api.Timing) error {
	deployment, err := d.Client.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	container := operatorContainer(deployment)
	if container == nil {
		return fmt.Errorf("the Deployment %s/%s has no container named %s", d.Namespace, d.Name, api.ContainerName)
	}
	args := container.Args
	for flag, value := range map[string]time.Duration{
		api.FlagLeaseDuration: t.LeaseDuration, api.FlagRenewDeadline: t.RenewDeadline, api.FlagRetryPeriod: t.RetryPeriod} {
		args = setArg(args, flag, value.String())
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []map[string]any{{"name": container.Name, "args": args}}}}}})
	if err != nil {
		return err
	}
	return d.patch(ctx, patch, "set the timing of")
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

// setArg replaces the value of --flag=value in place, or appends it.
func setArg(args []string, flag, value string) []string {
	out := append([]string(nil), args...)
	for i, a := range out {
		if strings.HasPrefix(a, "--"+flag+"=") {
			out[i] = "--" + flag + "=" + value
			return out
		}
	}
	return append(out, "--"+flag+"="+value)
}
