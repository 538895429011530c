package work

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"academy.example/lab/operator/api"
)

func get(ctx context.Context, cfg Config) (*coordination.Lease, error) {
	return cfg.Leases.Leases(cfg.LeaseNamespace).Get(ctx, cfg.LeaseName, metav1.GetOptions{})
}

// writeQueued writes one object after the other until the queue is shut down. While the API server is slow it writes
// less often and always the newest sequence.
func (w *Worker) writeQueued(t *term) {
	for {
		key, shutdown := t.queue.Get()
		if shutdown {
			return
		}
		_ = w.write(t, key) // logged; the object has its turn again
		t.queue.Done(key)
	}
}

// stampAll writes each work object once, in the order of their names. One that somebody else is writing is tried again; one
// that can't be written for another reason is left to its turn, so that it does not hold up the rest.
func (w *Worker) stampAll(t *term) {
	keys := w.objects.GetStore().ListKeys()
	slices.Sort(keys)
	for _, key := range keys {
		for apierrors.IsConflict(w.write(t, key)) && t.ctx.Err() == nil {
		}
	}
	if t.ctx.Err() == nil {
		w.cfg.Log.Info(api.MessageStamped, "objects", len(keys), api.KeyTransition, t.transition.Load())
	}
}

// write puts this term's stamp on one object, unless a later term has been there. It returns what was logged already.
//
// Two things make the write safe beside another leader. The object is read first, and one that carries a higher
// transition number is left alone: a leader that slept through its own end learns so here. And the Update names the
// version that was read, so the API server refuses it if anybody wrote in between.
//
// The token is only as good as the Lease: a deleted Lease counts from 0 again, and its next leader is refused by the
// stamps of the old count until they are removed.
func (w *Worker) write(t *term, key string) error {
	transition := t.transition.Load()
	if transition == nil || t.ctx.Err() != nil {
		return nil // the term has ended, perhaps before its number was known
	}
	ctx, cancel := context.WithTimeout(t.ctx, requestTimeout)
	defer cancel()
	sequence := t.sequence.Load()
	log := w.cfg.Log.With(api.KeyObject, key, api.KeySequence, sequence, api.KeyTransition, *transition)

	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		log.Error(api.MessageWriteFailed, api.KeyError, err.Error())
		return err
	}
	object, err := w.cfg.ConfigMaps.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		if reason := later(object, *transition); reason != "" && !w.cfg.Unfenced {
			log.Warn(api.MessageWriteRefused, api.KeyReason, reason, api.KeyHint, fmt.Sprintf(
				"if the Lease was deleted: kubectl -n %s annotate configmap %s %s-", namespace, name, api.AnnotationTransition))
			return nil
		}
		w.stamp(object, *transition, sequence)
		if w.cfg.Unfenced {
			object.ResourceVersion = ""
		}
		if t.ctx.Err() != nil { // the read may have taken long
			return nil
		}
		_, err = w.cfg.ConfigMaps.ConfigMaps(namespace).Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil && t.ctx.Err() == nil {
		log.Warn(api.MessageWriteFailed, api.KeyError, err.Error())
	}
	return err
}

// The stamp tells terms apart, not leaders: where two terms have the same number, as 0 before and 0 after a fresh Lease
// was deleted, only the precondition on the version read is left.

// later says why an object belongs to a later term than transition, or returns "".
func later(object *core.ConfigMap, transition int64) string {
	written, err := strconv.ParseInt(object.Annotations[api.AnnotationTransition], 10, 64)
	if err != nil || written <= transition { // no stamp, or one that is no number, stops nobody
		return ""
	}
	return fmt.Sprintf("%s wrote with transition %d, this leader has %d", object.Annotations[api.AnnotationHolder], written, transition)
}

func (w *Worker) stamp(object *core.ConfigMap, transition, sequence int64) {
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[api.AnnotationHolder] = w.cfg.Identity
	object.Annotations[api.AnnotationTransition] = strconv.FormatInt(transition, 10)
	object.Annotations[api.AnnotationSequence] = strconv.FormatInt(sequence, 10)
	object.Annotations[api.AnnotationWorkedAt] = time.Now().UTC().Format(time.RFC3339Nano)
}
