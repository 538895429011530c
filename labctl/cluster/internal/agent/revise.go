package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What follows is about the few things that can be changed in a pod that is on its node: images, the deadline, and
// ephemeral containers. A resize is refused by the API server, since the containers' status tells no resources.

const (
	reasonUnenforced = "NotEnforced"
	// reasonDeadline and deadlineMessage are a kubelet's own.
	reasonDeadline   = "DeadlineExceeded"
	deadlineMessage  = "Pod was active on the node longer than the specified deadline"
	ephemeralMessage = "pods run as local processes on this node, which cannot have ephemeral containers; kubectl exec runs a program beside the container's"
)

// revise answers to a change of the pod's spec.
func (w *worker) revise(before *corev1.Pod) {
	if w.terminal || w.refused {
		return
	}
	for i, c := range w.containers {
		if i < len(w.pod.Spec.Containers) {
			c.revise(w, &w.pod.Spec.Containers[i])
		}
	}
	w.refuseEphemeral(before.Spec.EphemeralContainers)
}

// note tells, once, what of the pod is not enforced.
func (w *worker) note(remark string) {
	if remark != "" {
		w.event(nil, corev1.EventTypeNormal, reasonUnenforced, remark)
	}
}

// revise takes over a new image: a container that runs is restarted with it, whatever the restart policy.
func (c *container) revise(w *worker, spec *corev1.Container) {
	if spec.Image == c.spec.Image || c.over {
		return
	}
	c.spec.Image, c.launch = spec.Image, nil
	if c.proc != nil {
		c.changed = true
		c.stop(w, max(w.grace(), w.node.timing.minGrace), "Container "+c.spec.Name+" definition changed, will be restarted")
		return
	}
	if c.held {
		c.held, c.reason, c.message = false, reasonCreating, ""
		c.startAt = time.Now()
	}
	c.prepare(w)
}

// refuseEphemeral tells of ephemeral containers that are new: they are not run.
func (w *worker) refuseEphemeral(known []corev1.EphemeralContainer) {
	for i := range w.pod.Spec.EphemeralContainers {
		name := w.pod.Spec.EphemeralContainers[i].Name
		if !slices.ContainsFunc(known, func(e corev1.EphemeralContainer) bool { return e.Name == name }) {
			w.ephemeral[name] = metav1.Now()
			w.event(nil, corev1.EventTypeWarning, reasonUnsupported, "ephemeral container "+name+": "+ephemeralMessage)
		}
	}
}

// ephemeralStatuses says of each ephemeral container that it has failed to start, so that nobody waits for it.
func (w *worker) ephemeralStatuses() []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i := range w.pod.Spec.EphemeralContainers {
		e := &w.pod.Spec.EphemeralContainers[i]
		ended := &corev1.ContainerStateTerminated{ExitCode: startErrorCode, Reason: reasonUnsupported, Message: ephemeralMessage}
		ended.StartedAt, ended.FinishedAt = w.ephemeral[e.Name], w.ephemeral[e.Name]
		all = append(all, corev1.ContainerStatus{Name: e.Name, Image: e.Image, State: corev1.ContainerState{Terminated: ended}})
	}
	return all
}

// ending is true when nothing of the pod is started any more.
func (w *worker) ending() bool { return w.stopping || w.terminal || w.overdue }

// deadline is when the pod has been active for as long as it may; zero if it may for ever, or is active no more.
func (w *worker) deadline() time.Time {
	seconds := w.pod.Spec.ActiveDeadlineSeconds
	if seconds == nil || w.ending() || w.phase() == corev1.PodSucceeded || w.phase() == corev1.PodFailed {
		return time.Time{}
	}
	return w.startTime.Add(time.Duration(*seconds) * time.Second)
}

// checkDeadline ends a pod that was active for too long: it fails, and its object stays.
func (w *worker) checkDeadline(now time.Time) {
	if deadline := w.deadline(); deadline.IsZero() || now.Before(deadline) {
		return
	}
	w.overdue = true
	w.event(nil, corev1.EventTypeNormal, reasonDeadline, deadlineMessage)
	for _, c := range w.containers {
		c.stop(w, max(w.grace(), w.node.timing.minGrace), "Stopping container "+c.spec.Name)
	}
}
