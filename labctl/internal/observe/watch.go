package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"academy.example/lab/labctl/internal/timeline"
)

// stream is one kind of object to list and watch.
type stream struct {
	what  string
	list  func(ctx context.Context) (runtime.Object, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// on is called for each object listed or changed, with the moment of its arrival.
	on func(now time.Time, object runtime.Object, deleted bool)
}

// follow lists and watches until ctx ends. It resumes a broken watch from the last version seen, so that nothing is
// missed. Events that were waiting meanwhile arrive late, and if the server has forgotten that version some may be
// missing: either is recorded as a hole.
func (o *Observer) follow(ctx context.Context, s stream, ready chan<- error) {
	f := follower{observer: o, stream: s, ready: ready, known: map[types.UID]runtime.Object{}}
	for ctx.Err() == nil {
		err := f.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			err = fmt.Errorf("watch %s: %w", s.what, err)
			if !f.announced {
				ready <- err
			}
			o.fail(err)
			return
		case errors.Is(err, errGone):
			f.version = ""
		case err != nil:
			o.note(fmt.Errorf("watch %s: %w", s.what, err))
			if !pause(ctx, retryAfter) {
				return
			}
		}
	}
}

// follower is the state of following one stream.
type follower struct {
	observer  *Observer
	stream    stream
	ready     chan<- error
	announced bool
	version   string                       // the last one seen; "" must be listed anew
	known     map[types.UID]runtime.Object // what exists, so that a new list tells what was deleted
	broken    time.Time                    // when the last watch ended; zero before the first
}

// lateAfter is how long a watch may be away before its events count as late.
const lateAfter = 250 * time.Millisecond

// once lists if need be, and watches until the watch ends.
func (f *follower) once(ctx context.Context) error {
	listed := f.version == ""
	if listed {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	w, err := f.stream.watch(ctx, metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true})
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return errGone
		}
		return err
	}
	defer w.Stop()
	if !f.announced {
		f.announced = true
		f.ready <- nil
	}
	if away := time.Since(f.broken); !f.broken.IsZero() && (listed || away > lateAfter) {
		f.observer.hole(f.stream.what, away)
	}
	err = f.drain(ctx, w)
	f.broken = time.Now()
	return err
}

// list hands on the present objects, and as deleted those that were there and are not any more.
func (f *follower) list(ctx context.Context) error {
	list, err := f.stream.list(ctx)
	if err != nil {
		return err
	}
	now, before := time.Now(), f.known
	f.known = map[types.UID]runtime.Object{}
	if err := meta.EachListItem(list, func(object runtime.Object) error {
		f.deliver(now, object, false)
		return nil
	}); err != nil {
		return err
	}
	for uid, object := range before {
		if f.known[uid] == nil {
			f.stream.on(now, object, true)
		}
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	f.version = accessor.GetResourceVersion()
	return nil
}

// drain hands on changes until the watch ends.
func (f *follower) drain(ctx context.Context, w watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-w.ResultChan():
			now := time.Now()
			switch {
			case !open:
				return nil
			case e.Type == watch.Error:
				err := apierrors.FromObject(e.Object)
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return errGone
				}
				return err
			case e.Type == watch.Bookmark:
				f.see(e.Object)
			default:
				f.deliver(now, e.Object, e.Type == watch.Deleted)
			}
		}
	}
}

// see takes an object's version as the last one seen.
func (f *follower) see(object runtime.Object) types.UID {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	f.version = accessor.GetResourceVersion()
	return accessor.GetUID()
}

func (f *follower) deliver(now time.Time, object runtime.Object, deleted bool) {
	uid := f.see(object)
	if deleted {
		delete(f.known, uid)
	} else {
		f.known[uid] = object
	}
	f.stream.on(now, object, deleted)
}

// source is what client-go's typed clients have in common.
type source[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// newStream lists and watches what the selection selects: its label and field selectors.
func newStream[L runtime.Object](what string, client source[L], selection metav1.ListOptions, on func(now time.Time, object runtime.Object, deleted bool)) stream {
	return stream{
		what: what,
		list: func(ctx context.Context) (runtime.Object, error) { return client.List(ctx, selection) },
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector, options.FieldSelector = selection.LabelSelector, selection.FieldSelector
			return client.Watch(ctx, options)
		},
		on: on,
	}
}

func (o *Observer) leases() stream {
	on := func(now time.Time, object runtime.Object, deleted bool) {
		lease, ok := object.(*coordinationv1.Lease)
		switch {
		case ok && deleted:
			o.emitAt(now, timeline.Event{Kind: timeline.LeaseGone})
		case ok:
			o.emitAt(now, timeline.Event{Kind: timeline.LeaseSeen, Lease: LeaseOf(lease)})
		}
	}
	return newStream("lease", o.config.Client.CoordinationV1().Leases(o.config.LeaseNamespace), metav1.ListOptions{FieldSelector: "metadata.name=" + o.config.Lease}, on)
}

// LeaseOf returns the content of a Lease.
func LeaseOf(lease *coordinationv1.Lease) *timeline.Lease {
	out := &timeline.Lease{ResourceVersion: lease.ResourceVersion}
	spec := lease.Spec
	if spec.HolderIdentity != nil {
		out.Holder = *spec.HolderIdentity
	}
	if spec.LeaseDurationSeconds != nil {
		out.LeaseDurationSeconds = int(*spec.LeaseDurationSeconds)
	}
	if spec.Strategy != nil {
		out.Strategy = string(*spec.Strategy)
	}
	if spec.PreferredHolder != nil {
		out.PreferredHolder = *spec.PreferredHolder
	}
	if spec.AcquireTime != nil {
		out.AcquireTime = spec.AcquireTime.UTC()
	}
	if spec.RenewTime != nil {
		out.RenewTime = spec.RenewTime.UTC()
	}
	if spec.LeaseTransitions != nil {
		out.Transitions = int(*spec.LeaseTransitions)
	}
	return out
}

func (o *Observer) pods(ctx context.Context, running *sync.WaitGroup) stream {
	logs := &logTails{observer: o, ctx: ctx, running: running, seen: map[life]bool{}}
	on := func(now time.Time, object runtime.Object, deleted bool) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return
		}
		kind := timeline.PodSeen
		if deleted {
			kind = timeline.PodGone
		}
		o.emitAt(now, timeline.Event{Kind: kind, Pod: PodOf(pod)})
		if o.config.Logs && !deleted {
			logs.pod(pod)
		}
	}
	return newStream("pods", o.config.Client.CoreV1().Pods(o.config.Namespace), metav1.ListOptions{LabelSelector: o.config.Pods}, on)
}

// PodOf returns what the timeline keeps of a pod.
func PodOf(pod *corev1.Pod) *timeline.Pod {
	out := &timeline.Pod{Name: pod.Name, UID: string(pod.UID), Phase: string(pod.Status.Phase), Terminating: pod.DeletionTimestamp != nil}
	switch {
	case pod.Spec.HostNetwork:
		out.Hostname = pod.Spec.NodeName
	case pod.Spec.Hostname != "":
		out.Hostname = pod.Spec.Hostname
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		out.Restarts += int(c.RestartCount)
	}
	return out
}
