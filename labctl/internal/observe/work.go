package observe

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// work follows the leaders' writes on the work objects.
func (o *Observer) work() stream {
	client := o.config.Client.CoreV1().ConfigMaps(o.config.Namespace)
	return stream{
		what: "work objects",
		list: func(ctx context.Context) (runtime.Object, error) {
			return client.List(ctx, metav1.ListOptions{LabelSelector: o.config.Work})
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = o.config.Work
			return client.Watch(ctx, options)
		},
		on: func(now time.Time, object runtime.Object, deleted bool) {
			m, ok := object.(*corev1.ConfigMap)
			if !ok || deleted || m.Annotations[api.AnnotationHolder] == "" {
				return
			}
			transition, _ := strconv.Atoi(m.Annotations[api.AnnotationTransition])
			sequence, _ := strconv.ParseInt(m.Annotations[api.AnnotationSequence], 10, 64)
			o.emitAt(now, timeline.Event{Kind: timeline.WorkSeen, Work: &timeline.Work{
				Object: m.Name, Holder: m.Annotations[api.AnnotationHolder], Transition: transition, Sequence: sequence}})
		},
	}
}
