package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// statusWriter is a worker's hand to the API server: it writes the newest status, in order and until it is taken, so
// that a server that does not answer never holds up a signal.
type statusWriter struct {
	node      *node
	namespace string
	name      string
	uid       types.UID
	deleted   func() // told when the final delete is taken

	wake chan struct{}

	mu      sync.Mutex
	pending *corev1.PodStatus
	final   bool
	stopped bool

	base corev1.PodStatus // what the API server has; patches are the difference from it
}

func newStatusWriter(n *node, pod *corev1.Pod, deleted func()) *statusWriter {
	return &statusWriter{
		node: n, namespace: pod.Namespace, name: pod.Name, uid: pod.UID, deleted: deleted,
		wake: make(chan struct{}, 1), base: *pod.Status.DeepCopy(),
	}
}

// set hands over a newer status; one that was not written yet is skipped.
func (s *statusWriter) set(status corev1.PodStatus) { s.put(status, false) }

// finish writes the last status and then deletes the object.
func (s *statusWriter) finish(status corev1.PodStatus) { s.put(status, true) }

func (s *statusWriter) put(status corev1.PodStatus, final bool) {
	s.mu.Lock()
	s.pending, s.final = &status, s.final || final
	s.mu.Unlock()
	s.rouse()
}

// stop drops what is not written: the object is gone.
func (s *statusWriter) stop() {
	s.mu.Lock()
	s.stopped, s.pending = true, nil
	s.mu.Unlock()
	s.rouse()
}

func (s *statusWriter) rouse() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

func (s *statusWriter) take() (status *corev1.PodStatus, final, stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, s.pending = s.pending, nil
	return status, s.final, s.stopped
}

func (s *statusWriter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		status, final, stopped := s.take()
		if stopped {
			return
		}
		if status == nil {
			continue
		}
		gone := s.write(ctx, status)
		if gone {
			return
		}
		if final {
			s.delete(ctx)
			return
		}
	}
}

// write brings the status to the API server, the newest if it takes more than one try; true if the object is gone.
func (s *statusWriter) write(ctx context.Context, status *corev1.PodStatus) (gone bool) {
	unsure := false
	err := s.node.retry(ctx, "write status of pod "+s.namespace+"/"+s.name, func() (err error) {
		newer, _, stopped := s.take()
		if newer != nil {
			status = newer
		}
		if gone = stopped; gone {
			return nil
		}
		if unsure {
			// The failed try may have been taken: a difference from the old base would then be wrong.
			if gone, err = s.look(ctx); gone || err != nil {
				return err
			}
		}
		err = s.patch(ctx, *status)
		if gone = apierrors.IsNotFound(err); gone {
			return nil
		}
		unsure = err != nil
		return err
	})
	return gone || err != nil
}

// look reads what the API server has; true if there is no such pod any more.
func (s *statusWriter) look(ctx context.Context) (gone bool, err error) {
	pod, err := s.node.client.CoreV1().Pods(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	s.base = pod.Status
	return pod.UID != s.uid, nil
}

// patch writes the difference between base and status. Lists like podIPs merge by key, so only a two-way patch can
// remove what has changed; the UID in it makes the server refuse another pod of the same name.
func (s *statusWriter) patch(ctx context.Context, status corev1.PodStatus) error {
	old, err := json.Marshal(corev1.Pod{Status: s.base})
	if err != nil {
		return err
	}
	wanted, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: s.uid}, Status: status})
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, wanted, corev1.Pod{})
	if err != nil {
		return err
	}
	if string(patch) == fmt.Sprintf(`{"metadata":{"uid":%q}}`, s.uid) {
		return nil
	}
	pods := s.node.client.CoreV1().Pods(s.namespace)
	pod, err := pods.Patch(ctx, s.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	s.base = pod.Status
	return nil
}

// delete removes the object for good; another pod of the same name is left alone.
func (s *statusWriter) delete(ctx context.Context) {
	zero := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &s.uid}}
	err := s.node.retry(ctx, "delete pod "+s.namespace+"/"+s.name, func() error {
		err := s.node.client.CoreV1().Pods(s.namespace).Delete(ctx, s.name, options)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if apierrors.IsConflict(err) {
			gone, lookErr := s.look(ctx)
			if gone {
				return nil
			}
			return errors.Join(err, lookErr)
		}
		return err
	})
	if err == nil {
		s.deleted()
	}
}
