package binder

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// refuses says why the node cannot take the pod, or nil.
func refuses(node *corev1.Node, pod *corev1.Pod) error {
	if node.Spec.Unschedulable {
		return errors.New("node is unschedulable")
	}
	if !ready(node) {
		return errors.New("node is not ready")
	}
	taint, untolerated := corehelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	if untolerated {
		return fmt.Errorf("pod does not tolerate taint %s", taint.ToString())
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil {
		return fmt.Errorf("read the pod's node affinity: %w", err)
	}
	if !match {
		return errors.New("node does not match the pod's node selector or affinity")
	}
	return nil
}

func ready(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// eligibilityChanged says whether pods that a node refused before might be accepted now. Heartbeats change nothing.
func eligibilityChanged(before, after *corev1.Node) bool {
	return ready(before) != ready(after) || before.Spec.Unschedulable != after.Spec.Unschedulable ||
		!reflect.DeepEqual(before.Spec.Taints, after.Spec.Taints) || !reflect.DeepEqual(before.Labels, after.Labels)
}

// report writes on the pod why no node takes it. The same reason is not written twice.
func (b *Binder) report(ctx context.Context, pod *corev1.Pod, nodes int, refusal error) error {
	message := fmt.Sprintf("0/%d nodes are available: %v", nodes, refusal)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && c.Message == message {
			return nil
		}
	}
	changed := pod.DeepCopy()
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: message, LastTransitionTime: metav1.Now(),
	}
	replaced := false
	for i := range changed.Status.Conditions {
		if changed.Status.Conditions[i].Type == corev1.PodScheduled {
			changed.Status.Conditions[i], replaced = condition, true
		}
	}
	if !replaced {
		changed.Status.Conditions = append(changed.Status.Conditions, condition)
	}
	_, err := b.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("report as unschedulable: %w", err)
	}
	b.recorder.Event(pod, corev1.EventTypeWarning, "FailedScheduling", message)
	return nil
}
