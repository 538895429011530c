package binder

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
)

// counts is true for a pod that takes room on a node.
func counts(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// neighbours are the pods that take room, by node: those that are seen to be bound, and those just bound.
func (b *Binder) neighbours() (map[string][]*corev1.Pod, error) {
	pods, err := b.pods.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	found := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if counts(pod) {
			found[pod.Spec.NodeName] = append(found[pod.Spec.NodeName], pod)
		}
	}
	for uid, bound := range b.assumed {
		seen, err := b.pods.Pods(bound.pod.Namespace).Get(bound.pod.Name)
		if apierrors.IsNotFound(err) || err == nil && (seen.UID != uid || seen.Spec.NodeName != "") {
			delete(b.assumed, uid)
			continue
		}
		found[bound.node] = append(found[bound.node], bound.pod)
	}
	return found, nil
}

// room says what the node has too little of, or nil. Requests are counted, as by a scheduler; nothing holds a pod to them.
func room(node *corev1.Node, pod *corev1.Pod, neighbours []*corev1.Pod) error {
	if most, told := node.Status.Allocatable[corev1.ResourcePods]; told && int64(len(neighbours))+1 > most.Value() {
		return fmt.Errorf("too many pods: %s", most.String())
	}
	for name, asked := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
		if asked.IsZero() {
			continue
		}
		left := node.Status.Allocatable[name].DeepCopy()
		for _, other := range neighbours {
			if taken, does := resource.PodRequests(other, resource.PodResourcesOptions{})[name]; does {
				left.Sub(taken)
			}
		}
		if asked.Cmp(left) > 0 {
			return fmt.Errorf("insufficient %s: %s asked for, %s free", name, asked.String(), left.String())
		}
	}
	return nil
}
