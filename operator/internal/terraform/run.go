package terraform

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

// workers is how many objects are reconciled at a time; one object is never reconciled twice at a time.
const workers = 4

// item is an object that is due.
type item struct {
	kind gate.Kind
	name string
}

// queue is what is due, and what will be.
type queue = workqueue.TypedRateLimitingInterface[item]

// Run reconciles until ctx ends. The watches only say what is due: whatever a pass decides on, it reads from the API server.
func (c *Controller) Run(ctx context.Context) error {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[item](time.Second, gate.RequeueAfter))
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.Client, 0, c.Namespace, nil)
	for _, kind := range gate.Kinds() {
		if err := watch(factory, Resource(kind), func(m metav1.Object) { q.Add(item{kind, m.GetName()}) }); err != nil {
			return err
		}
	}
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	if err := watch(factory, jobs, func(m metav1.Object) { addOwners(q, m) }); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	context.AfterFunc(ctx, q.ShutDown)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for c.next(ctx, q) {
			}
		})
	}
	working.Wait()
	return nil
}

func watch(factory dynamicinformer.DynamicSharedInformerFactory, resource schema.GroupVersionResource, due func(metav1.Object)) error {
	tell := func(o any) {
		if m, ok := o.(metav1.Object); ok {
			due(m)
		}
	}
	_, err := factory.ForResource(resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell,
	})
	return err
}

// addOwners makes the object of a Job due.
func addOwners(q queue, job metav1.Object) {
	for _, owner := range job.GetOwnerReferences() {
		if strings.HasPrefix(owner.APIVersion, Group+"/") {
			q.Add(item{gate.Kind(owner.Kind), owner.Name})
		}
	}
}

// next reconciles the next object that is due; false says that there will be none.
func (c *Controller) next(ctx context.Context, q queue) bool {
	due, shutDown := q.Get()
	if shutDown {
		return false
	}
	defer q.Done(due)
	after, err := c.Reconcile(ctx, due.kind, due.name)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.Log.Warn("reconcile failed", "kind", string(due.kind), "name", due.name, api.KeyError, err.Error())
		q.AddRateLimited(due)
	default:
		q.Forget(due)
		if after > 0 {
			q.AddAfter(due, after)
		}
	}
	return true
}

// tell makes a Normal event of an object. It is only for people: what fails is only logged.
func (c *Controller) tell(ctx context.Context, o *Object, reason, message string) {
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", o.Name, now.UnixNano()), Namespace: o.Namespace, Labels: map[string]string{api.LabelLab: "true"}},
		InvolvedObject: corev1.ObjectReference{APIVersion: Group + "/" + Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID},
		Type:           corev1.EventTypeNormal, Reason: reason, Message: message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "academy-gate"}, ReportingController: "academy-gate",
	}
	if _, err := c.Events.Create(ctx, event, metav1.CreateOptions{}); err != nil {
		c.Log.Warn("event not written", api.KeyError, err.Error())
	}
}
