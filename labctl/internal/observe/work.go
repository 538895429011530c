package observe

import (
	"strconv"
	"time"

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
			Object: m.Name, Holder: m.Annotations[api.AnnotationHolder], Transition: transition, Sequence: sequence}})
	}
	return newStream("work objects", o.config.Client.CoreV1().ConfigMaps(o.config.Namespace), metav1.ListOptions{LabelSelector: o.config.Work}, on)
}
