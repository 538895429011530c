package lab

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// unready says what keeps replicas from becoming ready, in the words of their containers; "" if they only take their time.
func unready(pods []corev1.Pod) string {
	for _, pod := range slices.Backward(pods) {
		for _, c := range pod.Status.ContainerStatuses {
			w := c.State.Waiting
			switch {
			case w == nil || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing":
			case c.LastTerminationState.Terminated != nil:
				return fmt.Sprintf(": %s is in %s, its program ended with %d", pod.Name, w.Reason, c.LastTerminationState.Terminated.ExitCode)
			default:
				return fmt.Sprintf(": %s is in %s: %s", pod.Name, w.Reason, w.Message)
			}
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return fmt.Sprintf(": %s has no node: %s", pod.Name, c.Message)
			}
		}
	}
	return ""
}
