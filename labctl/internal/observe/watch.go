package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
// missed; only if the server has forgotten that version is there a hole, which is recorded.
func (o *Observer) follow(ctx context.Context, s stream, ready chan<- error) {
	announced := false
	version := ""
	for ctx.Err() == nil {
		var err error
		if version == "" {
			version, err = o.list(ctx, s)
		}
		if err == nil {
			version, err = o.watchFrom(ctx, s, version, func() {
				if !announced {
					announced = true
					ready <- nil
				}
			})
		}
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			err = fmt.Errorf("watch %s: %w", s.what, err)
			if !announced {
				ready <- err
			}
			o.fail(err)
			return
		case errors.Is(err, errGone):
			version = ""
			o.Emit(timeline.Event{Kind: timeline.WatchHole, Note: s.what})
		case err != nil && !pause(ctx, retryAfter):
			return
		}
	}
}

// list hands on the present objects and returns the version to watch from.
func (o *Observer) list(ctx context.Context, s stream) (string, error) {
	list, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	now := time.Now()
	if err := meta.EachListItem(list, func(object runtime.Object) error {
		s.on(now, object, false)
		return nil
	}); err != nil {
		return "", err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return "", err
	}
	return accessor.GetResourceVersion(), nil
}

// watchFrom hands on changes after version until the watch ends, and returns the last version seen.
func (o *Observer) watchFrom(ctx context.Context, s stream, version string, opened func()) (string, error) {
	w, err := s.watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return "", errGone
		}
		return version, err
	}
	defer w.Stop()
	opened()
	for e := range w.ResultChan() {
		now := time.Now()
		if e.Type == watch.Error {
			err := apierrors.FromObject(e.Object)
			var status *apierrors.StatusError
			if errors.As(err, &status) && (status.ErrStatus.Code == http.StatusGone || status.ErrStatus.Reason == metav1.StatusReasonExpired) {
				return "", errGone
			}
			return version, err
		}
		if accessor, err := meta.Accessor(e.Object); err == nil {
			version = accessor.GetResourceVersion()
		}
		if e.Type != watch.Bookmark {
			s.on(now, e.Object, e.Type == watch.Deleted)
		}
	}
	return version, nil
}

func (o *Observer) leases() stream {
	api := o.config.Client.CoordinationV1().Leases(o.config.Namespace)
	field := "metadata.name=" + o.config.Lease
	return stream{
		what: "lease",
		list: func(ctx context.Context) (runtime.Object, error) {
			return api.List(ctx, metav1.ListOptions{FieldSelector: field})
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = field
			return api.Watch(ctx, options)
		},
		on: func(now time.Time, object runtime.Object, deleted bool) {
			lease, ok := object.(*coordinationv1.Lease)
			switch {
			case ok && deleted:
				o.emitAt(now, timeline.Event{Kind: timeline.LeaseGone})
			case ok:
				o.emitAt(now, timeline.Event{Kind: timeline.LeaseSeen, Lease: LeaseOf(lease)})
			}
		},
	}
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
	api := o.config.Client.CoreV1().Pods(o.config.Namespace)
	logs := &logTails{observer: o, ctx: ctx, running: running, seen: map[string]bool{}}
	return stream{
		what: "pods",
		list: func(ctx context.Context) (runtime.Object, error) {
			return api.List(ctx, metav1.ListOptions{LabelSelector: o.config.Pods})
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = o.config.Pods
			return api.Watch(ctx, options)
		},
		on: func(now time.Time, object runtime.Object, deleted bool) {
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
		},
	}
}

// PodOf returns what the timeline keeps of a pod.
func PodOf(pod *corev1.Pod) *timeline.Pod {
	out := &timeline.Pod{Name: pod.Name, UID: string(pod.UID), Phase: string(pod.Status.Phase), Terminating: pod.DeletionTimestamp != nil}
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
