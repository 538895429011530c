package lab

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnready(t *testing.T) {
	waiting := func(reason, message string, code int32) corev1.PodStatus {
		s := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
		if code != 0 {
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code}
		}
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{s}}
	}
	for want, status := range map[string]corev1.PodStatus{
		"": waiting("ContainerCreating", "", 0),
		": a is in CrashLoopBackOff, its program ended with 3":      waiting("CrashLoopBackOff", "back-off 20s", 3),
		": a is in ErrImageNeverPull: nobody has the image x":       waiting("ErrImageNeverPull", "nobody has the image x", 0),
		": a has no node: 0/1 nodes are available: 1 unschedulable": {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available: 1 unschedulable"}}},
	} {
		if got := unready([]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: status}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
