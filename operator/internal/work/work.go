// Package work is what a leader does: visible, harmless writes to labelled ConfigMaps, each stamped with who wrote it
// and in which term, so that a gap and an overlap can be seen from outside.
package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"academy.example/lab/operator/api"
)

const (
	tick = api.WorkTick
	// stall is how late a tick may be before the watchdog calls the loop dead. A frozen process that runs again ticks
	// within milliseconds, so only a loop that is truly stuck stays beyond it.
	stall = 5 * time.Second
	// requestTimeout bounds each request of the work, so that one lost in the network holds up nothing for long.
	requestTimeout = 5 * time.Second
)

// Config says what is worked on, as whom and with which clients. All fields are required but those that say otherwise.
type Config struct {
	Namespace string // of the work objects
	Identity  string // written into the holder annotation; must equal the candidate's

	// LeaseNamespace and LeaseName are those of the Lease whose leaseTransitions is the fencing token.
	LeaseNamespace, LeaseName string

	// Token gives the fencing token of the leadership that a context belongs to; nil, or not ok: it is read from the Lease.
	Token func(ctx context.Context) (number int64, ok bool)
	// StampFirst puts the token on every work object before any other write, so that an older leader is refused from the
	// first moment on, and not only where this one happens to have worked.
	StampFirst bool
	// Unfenced turns the fence off: no token is compared and no version, so the last writer wins.
	Unfenced bool

	ConfigMaps corev1.ConfigMapsGetter
	Leases     coordinationv1.LeasesGetter
	Log        *slog.Logger
}

// Worker does the work while it leads. Make one with New.
type Worker struct {
	cfg     Config
	objects cache.SharedIndexInformer

	term     atomic.Pointer[term]
	born     time.Time
	lastTick atomic.Int64 // nanoseconds after born, by the monotonic clock: a clock that is set must not alarm the watchdog
}

// term is one spell of leadership.
type term struct {
	ctx        context.Context
	sequence   atomic.Int64
	transition atomic.Pointer[int64] // nil until read from the Lease
	queue      workqueue.TypedInterface[string]
}

// New returns a Worker that does nothing yet.
func New(cfg Config) *Worker {
	return &Worker{cfg: cfg, born: time.Now(), objects: newInformer(cfg.ConfigMaps, cfg.Namespace)}
}

// Watch keeps the list of work objects up to date until ctx is cancelled. A standby runs it too: whoever takes over then
// has the list at hand and works at once.
func (w *Worker) Watch(ctx context.Context) { w.objects.RunWithContext(ctx) }

// Lead works until ctx is cancelled and returns when all of it has stopped. The first reconcile is logged at once; no
// tick waits for the API server.
func (w *Worker) Lead(ctx context.Context) {
	t := &term{ctx: ctx, queue: workqueue.NewTyped[string]()}
	w.lastTick.Store(int64(time.Since(w.born)))
	w.term.Store(t)

	var running sync.WaitGroup
	running.Go(func() {
		w.readTransition(t)
		if w.cfg.StampFirst && !w.cfg.Unfenced {
			w.stampAll(t)
		}
		w.writeQueued(t)
	})

	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		w.reconcile(t)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	t.queue.ShutDown()
	running.Wait()
}

// reconcile is one tick: a log line, and one work object handed to the writer. Objects take turns, so the load on the
// API server does not grow with their number. An object that still waits for its last write is not queued twice.
func (w *Worker) reconcile(t *term) {
	w.lastTick.Store(int64(time.Since(w.born)))
	sequence := t.sequence.Add(1)
	key := ""
	if keys := w.objects.GetStore().ListKeys(); len(keys) > 0 {
		slices.Sort(keys)
		key = keys[int(sequence-1)%len(keys)]
	}
	w.cfg.Log.Info(api.MessageReconcile, api.KeySequence, sequence, api.KeyTransition, t.transition.Load(), api.KeyObject, key)
	if key != "" {
		t.queue.Add(key)
	}
}

// readTransition learns the number of this term, the fencing token. Nothing is written before: the queue waits.
func (w *Worker) readTransition(t *term) {
	if w.cfg.Token != nil {
		if number, ok := w.cfg.Token(t.ctx); ok {
			t.transition.Store(&number)
			return
		}
	}
	for t.ctx.Err() == nil {
		number, err := w.transition(t.ctx)
		if err == nil {
			t.transition.Store(&number)
			return
		}
		if t.ctx.Err() == nil {
			w.cfg.Log.Warn(api.MessageTransition, api.KeyError, err.Error())
		}
		select {
		case <-time.After(time.Second):
		case <-t.ctx.Done():
		}
	}
}

var errNotHolder = errors.New("another holder is in the Lease already")

func (w *Worker) transition(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	lease, err := get(ctx, w.cfg)
	if err != nil {
		return 0, fmt.Errorf("read lease %s/%s: %w", w.cfg.LeaseNamespace, w.cfg.LeaseName, err)
	}
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != w.cfg.Identity {
		return 0, errNotHolder // its number is a successor's token and would let this process write as the successor
	}
	if lease.Spec.LeaseTransitions == nil {
		return 0, nil
	}
	return int64(*lease.Spec.LeaseTransitions), nil
}

// Leading reports whether the workers' context lives. It turns false the moment that context is cancelled.
func (w *Worker) Leading() bool {
	t := w.term.Load()
	return t != nil && t.ctx.Err() == nil
}

// Objects returns how many work objects the leader sees, and 0 in a process that does not lead: what a former leader saw
// last is nobody's business.
func (w *Worker) Objects() int {
	if !w.Leading() {
		return 0
	}
	return len(w.objects.GetStore().ListKeys())
}

// Alive returns nil unless this process leads and its tick loop stands still.
func (w *Worker) Alive() error {
	if !w.Leading() {
		return nil
	}
	if late := time.Since(w.born) - time.Duration(w.lastTick.Load()); late > stall {
		return fmt.Errorf("tick loop stands still for %s", late.Round(tick))
	}
	return nil
}
