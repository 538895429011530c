// Package binder assigns pods to nodes in the place of a scheduler: the first node takes a pod that is ready, has room for
// it, and that the pod accepts. What a pod only prefers is not weighed, and no pod has to go for another's sake.
package binder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Component is the name under which the binder reports events.
const Component = "academy-binder"

// Binder binds pods of the default scheduler's name.
type Binder struct {
	client   kubernetes.Interface
	recorder record.EventRecorder
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
	synced   []cache.InformerSynced
	queue    workqueue.TypedRateLimitingInterface[string]
	assumed  map[types.UID]assumption // pods that are bound and not yet seen to be
}

// assumption is where a pod was bound to.
type assumption struct {
	pod  *corev1.Pod
	node string
}

// New returns a Binder fed by the given informers, which the caller starts.
func New(client kubernetes.Interface, recorder record.EventRecorder, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer) (*Binder, error) {
	b := &Binder{
		client: client, recorder: recorder, pods: pods.Lister(), nodes: nodes.Lister(),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		assumed: map[types.UID]assumption{},
	}
	podHandler, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: b.enqueue,
		UpdateFunc: func(before, after any) {
			b.enqueue(after)
			if counts(before.(*corev1.Pod)) != counts(after.(*corev1.Pod)) {
				b.enqueuePending()
			}
		},
		DeleteFunc: func(any) { b.enqueuePending() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	nodeHandler, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { b.enqueuePending() },
		UpdateFunc: func(before, after any) {
			if eligibilityChanged(before.(*corev1.Node), after.(*corev1.Node)) {
				b.enqueuePending()
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watch nodes: %w", err)
	}
	b.synced = []cache.InformerSynced{podHandler.HasSynced, nodeHandler.HasSynced}
	return b, nil
}

// Run binds until ctx ends.
func (b *Binder) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), b.synced...) {
		return
	}
	go func() {
		<-ctx.Done()
		b.queue.ShutDown()
	}()
	for b.next(ctx) {
	}
}

func (b *Binder) next(ctx context.Context) bool {
	key, quit := b.queue.Get()
	if quit {
		return false
	}
	defer b.queue.Done(key)
	if err := b.sync(ctx, key); err != nil {
		klog.FromContext(ctx).Info("Pod not bound, trying again", "pod", key, "reason", err)
		b.queue.AddRateLimited(key)
		return true
	}
	b.queue.Forget(key)
	return true
}

func (b *Binder) enqueue(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok && pending(pod) {
		b.queue.Add(pod.Namespace + "/" + pod.Name)
	}
}

func (b *Binder) enqueuePending() {
	pods, err := b.pods.List(labels.Everything())
	if err != nil {
		return // a lister reads memory and does not fail
	}
	for _, pod := range pods {
		b.enqueue(pod)
	}
}

func pending(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Spec.SchedulerName == corev1.DefaultSchedulerName
}

func (b *Binder) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	pod, err := b.pods.Pods(namespace).Get(name)
	if apierrors.IsNotFound(err) || (err == nil && !pending(pod)) {
		return nil
	}
	if err != nil {
		return err
	}
	nodes, err := b.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	if len(nodes) == 0 {
		return nil // the first node to register brings the pod back
	}
	around, err := b.neighbours()
	if err != nil {
		return err
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	refusals := make([]error, 0, len(nodes))
	for _, node := range nodes {
		refusal := cmp.Or(refuses(node, pod), room(node, pod, around[node.Name]), misplaced(node, pod, nodes, around))
		if refusal == nil {
			return b.bind(ctx, pod, node.Name)
		}
		refusals = append(refusals, fmt.Errorf("%s: %w", node.Name, refusal))
	}
	return b.report(ctx, pod, len(nodes), errors.Join(refusals...))
}

// bind asks the API server to assign the pod. A pod that has gone or was bound meanwhile needs nothing more.
func (b *Binder) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	err := b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bind to %s: %w", node, err)
	}
	b.assumed[pod.UID] = assumption{pod, node}
	b.recorder.Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
	return nil
}
