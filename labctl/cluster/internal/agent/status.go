package agent

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// show makes the pod's state seen: to the API server, and to those who ask the agent itself.
func (w *worker) show() {
	w.shown.Store(w.newView())
	if w.gone || w.finishing || w.terminal {
		return
	}
	status := w.newStatus()
	if equality.Semantic.DeepEqual(status, w.status) {
		return
	}
	w.status = status
	w.writer.set(status)
}

// newStatus is the pod's status now; what the agent does not own is kept as the API server last told it.
func (w *worker) newStatus() corev1.PodStatus {
	status := *w.pod.Status.DeepCopy()
	start := metav1.NewTime(w.startTime)
	status.StartTime = &start
	status.HostIP = hostIP
	status.HostIPs = []corev1.HostIP{{IP: hostIP}}
	if w.ip != "" {
		status.PodIP = w.ip
		status.PodIPs = []corev1.PodIP{{IP: w.ip}}
	}
	status.ObservedGeneration = w.pod.Generation
	status.ContainerStatuses = nil
	for _, c := range w.containers {
		status.ContainerStatuses = append(status.ContainerStatuses, c.status())
	}
	status.EphemeralContainerStatuses = w.ephemeralStatuses()
	status.Phase = w.phase()
	if status.Phase == corev1.PodFailed && w.overdue {
		status.Reason, status.Message = reasonDeadline, deadlineMessage
	}
	w.setConditions(&status)
	return status
}

// finalStatus is what is written before the final delete.
func (w *worker) finalStatus() corev1.PodStatus {
	status := w.newStatus()
	if w.terminal {
		status.Phase = w.pod.Status.Phase
	}
	return status
}

func (w *worker) phase() corev1.PodPhase {
	if w.overdue && !w.alive() {
		return corev1.PodFailed
	}
	running, failed := false, false
	for _, c := range w.containers {
		switch {
		case !c.ran && c.term == nil:
			return corev1.PodPending
		case c.proc != nil || !c.over:
			running = true
		case c.term != nil && c.term.ExitCode != 0:
			failed = true
		}
	}
	switch {
	case running:
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

func (w *worker) setConditions(status *corev1.PodStatus) {
	var unready []string
	for _, c := range w.containers {
		if !c.isReady() {
			unready = append(unready, c.spec.Name)
		}
	}
	containersReady := condition(corev1.ContainersReady, len(unready) == 0)
	if len(unready) > 0 {
		containersReady.Reason = "ContainersNotReady"
		containersReady.Message = "containers with unready status: " + bracketed(unready)
	}
	if status.Phase == corev1.PodSucceeded {
		containersReady.Reason, containersReady.Message = "PodCompleted", ""
	}
	ready := containersReady
	ready.Type = corev1.PodReady
	for _, gate := range w.pod.Spec.ReadinessGates {
		if ready.Status == corev1.ConditionTrue && !isTrue(status.Conditions, gate.ConditionType) {
			ready.Status, ready.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
			ready.Message = "condition " + string(gate.ConditionType) + " is not true"
		}
	}
	equippedNow := condition(corev1.PodReadyToStartContainers, w.gear != nil && w.phase() != corev1.PodSucceeded)
	for _, c := range []corev1.PodCondition{equippedNow, condition(corev1.PodInitialized, true), ready, containersReady} {
		c.ObservedGeneration = w.pod.Generation
		w.setCondition(status, c)
	}
}

// setCondition puts c in, with the transition time of an earlier condition that said the same.
func (w *worker) setCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	c.LastTransitionTime = metav1.Now()
	for _, earlier := range [][]corev1.PodCondition{status.Conditions, w.status.Conditions} {
		for _, e := range earlier {
			if e.Type == c.Type && e.Status == c.Status {
				c.LastTransitionTime = e.LastTransitionTime
			}
		}
	}
	i := slices.IndexFunc(status.Conditions, func(e corev1.PodCondition) bool { return e.Type == c.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, c)
		return
	}
	status.Conditions[i] = c
}

func condition(kind corev1.PodConditionType, holds bool) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	return c
}

func isTrue(conditions []corev1.PodCondition, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func bracketed(names []string) string {
	text := "["
	for i, name := range names {
		if i > 0 {
			text += " "
		}
		text += name
	}
	return text + "]"
}

// isReady is what a Service and a Deployment go by: it runs, has started, and its readiness probe agrees.
func (c *container) isReady() bool {
	return c.proc != nil && c.started && (c.spec.ReadinessProbe == nil || c.ready)
}

func (c *container) status() corev1.ContainerStatus {
	started := c.proc != nil && c.started
	status := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: imageName(c.spec.Image), ContainerID: c.id,
		RestartCount: c.restarts, Ready: c.isReady(), Started: &started,
	}
	if c.last != nil {
		status.LastTerminationState.Terminated = c.last
	}
	switch {
	case c.proc != nil:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.proc.Started())}
	case c.term != nil && (c.over || c.reason == "" || c.reason == reasonCreating):
		status.State.Terminated = c.term
	default:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.message}
		if c.term != nil {
			status.LastTerminationState.Terminated = c.term
		}
	}
	return status
}
