package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// watchPods keeps the workers told of this node's pods until ctx ends. A reflector writes straight into them: no second
// copy of the pods is kept, and its waits after a lost API server are shorter than an informer's 30 s.
func (n *node) watchPods(ctx context.Context) {
	selector := fields.OneTermEqualSelector("spec.nodeName", n.cfg.NodeName).String()
	pods := n.client.CoreV1().Pods(metav1.NamespaceAll)
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return pods.Watch(ctx, o)
		},
	}, n.client)
	reflector := cache.NewReflectorWithOptions(lw, &corev1.Pod{}, &podStore{node: n, ctx: ctx}, cache.ReflectorOptions{
		Name:    "pods of this node",
		Backoff: &wait.Backoff{Duration: 200 * time.Millisecond, Cap: 2 * time.Second, Steps: 8, Factor: 2, Jitter: 0.2},
	})
	reflector.RunWithContext(ctx)
}

// podStore hands what the reflector sees to the workers.
type podStore struct {
	node *node
	ctx  context.Context // the life of the workers
}

var _ cache.ReflectorStore = (*podStore)(nil)

// Add tells of a pod that is new to the watch.
func (s *podStore) Add(obj any) error { return s.Update(obj) }

// Update tells of a pod's new state.
func (s *podStore) Update(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("watch pods: unexpected %T", obj)
	}
	s.node.observe(s.ctx, pod, false)
	return nil
}

// Delete tells that a pod is gone.
func (s *podStore) Delete(obj any) error {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("watch pods: unexpected %T", obj)
	}
	s.node.removed(string(pod.UID))
	return nil
}

// Replace tells of all pods there are; those that a gap in the watch has swallowed are gone.
func (s *podStore) Replace(list []any, _ string) error {
	present := map[string]bool{}
	for _, obj := range list {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return fmt.Errorf("watch pods: unexpected %T", obj)
		}
		present[string(pod.UID)] = true
		s.node.observe(s.ctx, pod, true)
	}
	for _, uid := range s.node.uids() {
		if !present[uid] {
			s.node.removed(uid)
		}
	}
	return s.node.sweepFolders(present)
}

// Resync is not needed: workers forget nothing.
func (s *podStore) Resync() error { return nil }

// observe passes a pod's state to its worker, and starts one for a pod that is new.
func (n *node) observe(ctx context.Context, pod *corev1.Pod, listed bool) {
	if pod.Spec.NodeName != n.cfg.NodeName {
		return
	}
	pod.ManagedFields = nil // never read here
	n.mu.Lock()
	w, known := n.workers[string(pod.UID)]
	if !known {
		w = newWorker(n, pod, listed)
		n.workers[w.uid] = w
		n.wg.Go(func() { w.run(ctx) })
	}
	n.mu.Unlock()
	if known {
		w.send(podSeen{pod})
	}
}

func (n *node) removed(uid string) {
	if w := n.worker(uid); w != nil {
		w.send(podGone{})
	}
}

func (n *node) worker(uid string) *worker {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.workers[uid]
}

func (n *node) uids() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	uids := make([]string, 0, len(n.workers))
	for uid := range n.workers {
		uids = append(uids, uid)
	}
	return uids
}

func (n *node) forget(uid string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.workers, uid)
}

// sweepFolders removes, once, what pods of an earlier life left that are not there any more.
func (n *node) sweepFolders(present map[string]bool) error {
	if n.swept {
		return nil
	}
	n.swept = true
	temps := map[string]bool{}
	for uid := range present {
		temps[tempName(uid)] = true
	}
	for dir, keep := range map[string]map[string]bool{n.podsDir(): present, n.tempDir(): temps} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("sweep pod folders: %w", err)
		}
		for _, entry := range entries {
			if keep[entry.Name()] {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("sweep pod folders: %w", err)
			}
		}
	}
	return nil
}
