package observe

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// work follows the leaders' writes on the work objects.
func (o *Observer) work() stream {
	on := func(now time.Time, object runtime.Object, deleted bool) {
		m, ok := object.(*corev1.ConfigMap)
		if !ok || deleted || m.Annotations[api.AnnotationHolder] == "" {
			return
		}
		// What is no number counts as 0: it was written by somebody else.
		transition, _ := strconv.Atoi(m.Annotations[api.AnnotationTransition])
		sequence, _ := strconv.ParseInt(m.Annotations[api.AnnotationSequence], 10, 64)
		o.emitAt(now, timeline.Event{Kind: timeline.WorkSeen, Work: &timeline.Work{
			At: writtenAt(m), Object: m.Name, Holder: m.Annotations[api.AnnotationHolder], Transition: transition, Sequence: sequence}})
	}
	return newStream("work objects", o.config.Client.CoreV1().ConfigMaps(o.config.Namespace), metav1.ListOptions{LabelSelector: o.config.Work}, on)
}

// writtenAt is when the leader says that it wrote; zero if it says nothing that is a time.
func writtenAt(m *corev1.ConfigMap) time.Time {
	at, err := time.Parse(time.RFC3339Nano, m.Annotations[api.AnnotationWorkedAt])
	if err != nil {
		return time.Time{}
	}
	return at
}

// deployment follows what the Deployment asks for.
func (o *Observer) deployment() stream {
	on := func(now time.Time, object runtime.Object, deleted bool) {
		d, ok := object.(*appsv1.Deployment)
		if !ok || deleted {
			return
		}
		asked := timeline.Deploy{Generation: d.Generation, Replicas: 1}
		if d.Spec.Replicas != nil {
			asked.Replicas = int(*d.Spec.Replicas)
		}
		if asked != o.asked {
			o.asked = asked
			o.emitAt(now, timeline.Event{Kind: timeline.Deployed, Deploy: &asked})
		}
	}
	return newStream("deployment", o.config.Client.AppsV1().Deployments(o.config.Namespace), metav1.ListOptions{FieldSelector: "metadata.name=" + o.config.Deployment}, on)
}
