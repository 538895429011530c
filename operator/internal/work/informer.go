package work

import (
	"context"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"academy.example/lab/operator/api"
)

// newInformer watches the labelled ConfigMaps of one namespace. It is built by hand on the typed client because the
// generated informers pull in the clients of every API group.
func newInformer(client corev1.ConfigMapsGetter, namespace string) cache.SharedIndexInformer {
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = api.LabelWork + "=true"
		return o
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.ConfigMaps(namespace).List(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.ConfigMaps(namespace).Watch(ctx, selected(o))
		},
	}
	informer := cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(lw, client), &core.ConfigMap{}, 0, cache.Indexers{})
	// Only names are needed; an object's data may be large and is not ours to keep. The informer refuses a transform
	// only once it runs, which it does not yet.
	_ = informer.SetTransform(func(o any) (any, error) {
		if m, ok := o.(*core.ConfigMap); ok {
			return &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion}}, nil
		}
		return o, nil
	})
	return informer
}
