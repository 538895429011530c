// Package terraform is a small controller of the three kinds that the operation gate is about. What a Job would do to real machines
// takes its time here and does nothing; the Leases, the Jobs and the waits are real.
package terraform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"academy.example/lab/operator/lease/gate"
)

// Finalizer keeps an object until it is destroyed and its leases are gone.
const Finalizer = "captf.io/gate"

// What follows a failed Job: a pause that doubles, and an end.
const (
	firstBackOff = 10 * time.Second
	mostFailures = 3 // the cap: then it waits for other inputs
)

// Reasons of conditions that are no wait.
const (
	ReasonRunning   = "JobRunning"
	ReasonSucceeded = "JobSucceeded"
	ReasonFailed    = "JobFailed"
)

// Controller reconciles the objects of one namespace.
type Controller struct {
	Namespace string
	Gate      gate.Gate
	Client    dynamic.Interface
	Jobs      batchclient.JobInterface
	Secrets   coreclient.SecretInterface
	Events    coreclient.EventInterface
	Image     string // of the Jobs
	// Pause is how long a pass waits between the leases and the Job; for exercises.
	Pause time.Duration
	Log   *slog.Logger
}

// Reconcile is one pass over one object. after is when it is to be looked at again without being told; 0 is never.
func (c *Controller) Reconcile(ctx context.Context, kind gate.Kind, name string) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gate.PassLimit, errors.New("a pass must end within the grace"))
	defer cancel()
	store := objects{kind, c.Client.Resource(Resource(kind)).Namespace(c.Namespace)}
	o, err := store.get(ctx, name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if o.DeletionTimestamp == nil && !slices.Contains(o.Finalizers, Finalizer) {
		o.Finalizers = append(o.Finalizers, Finalizer)
		if err := store.update(ctx, o, false); err != nil {
			return 0, err
		}
	}
	if err := c.settle(ctx, store, o); err != nil {
		return 0, err
	}
	if o.Status.Done == o.goal() {
		return 0, c.finish(ctx, store, o)
	}
	if left, stop := backOff(o, time.Now()); stop || left > 0 {
		return left, nil
	}
	op := o.operation()
	result, err := c.Gate.Pass(ctx, op, run{c, o, op})
	if err != nil {
		return 0, err
	}
	return c.record(ctx, store, o, op, result)
}

// settle counts the finished Jobs of an object that are not wanted any more, because the inputs have changed since.
func (c *Controller) settle(ctx context.Context, store objects, o *Object) error {
	jobs, err := c.Jobs.List(ctx, metav1.ListOptions{LabelSelector: LabelOwner + "=" + o.gateObject().Suffix()})
	if err != nil {
		return fmt.Errorf("list the Jobs of %s %s: %w", o.Kind, o.Name, err)
	}
	wanted, counted := o.operation().Job, 0
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if job.Name == wanted || gate.StateOf(job) != gate.Finished {
			continue
		}
		r := c.found(o, job)
		result, err := c.Gate.Count(ctx, r.op, r)
		if err != nil {
			return err
		}
		if result.Counted {
			counted++
		}
	}
	if counted == 0 {
		return nil
	}
	o.Status.Counted += counted
	return store.update(ctx, o, true)
}

// finish ends the life of an object that is destroyed: its leases go, then it.
func (c *Controller) finish(ctx context.Context, store objects, o *Object) error {
	if o.DeletionTimestamp == nil {
		return nil
	}
	if err := c.Gate.Cleanup(ctx, o.gateObject()); err != nil {
		return err
	}
	o.Finalizers = slices.DeleteFunc(o.Finalizers, func(f string) bool { return f == Finalizer })
	return store.update(ctx, o, false)
}

// backOff is how long a failed goal is left alone, and whether for good.
func backOff(o *Object, now time.Time) (left time.Duration, stop bool) {
	n := o.attempt()
	if n == 0 || o.Status.FailedAt == nil {
		return 0, false
	}
	return max(0, firstBackOff<<(n-1)-now.Sub(o.Status.FailedAt.Time)), n >= mostFailures
}

// record writes down what a pass came to.
func (c *Controller) record(ctx context.Context, store objects, o *Object, op gate.Operation, result gate.Result) (time.Duration, error) {
	switch {
	case result.Wait != nil:
		return gate.RequeueAfter, c.waits(ctx, store, o, op, *result.Wait)
	case result.Finished:
		if result.Counted {
			o.Status.Counted++
		}
		if err := c.finished(ctx, store, o, op); err != nil {
			return 0, err
		}
		left, _ := backOff(o, time.Now())
		return left, nil
	default:
		before := condition(o, op)
		if before != nil && before.Reason == ReasonRunning && o.Status.WaitingJob == "" {
			return 0, nil // told already
		}
		o.Status.WaitingJob = ""
		setCondition(o, op, metav1.ConditionUnknown, ReasonRunning, "Job "+op.Job+" runs")
		return 0, store.update(ctx, o, true)
	}
}

// waits writes down a wait, and says so once: a wait is of one Job, for one reason.
func (c *Controller) waits(ctx context.Context, store objects, o *Object, op gate.Operation, w gate.Wait) error {
	before := condition(o, op)
	same := before != nil && before.Status == metav1.ConditionUnknown && before.Reason == w.Reason && o.Status.WaitingJob == op.Job
	waited := time.Duration(0)
	if same {
		waited = time.Since(before.LastTransitionTime.Time)
	}
	message := w.Message(waited, c.Namespace)
	if same && before.Message == message {
		return nil
	}
	if !same {
		meta.RemoveStatusCondition(&o.Status.Conditions, op.Op.Condition()) // so that its time is that of this wait
		c.tell(ctx, o, w.Reason, message)
	}
	o.Status.WaitingJob = op.Job
	setCondition(o, op, metav1.ConditionUnknown, w.Reason, message)
	return store.update(ctx, o, true)
}

// finished writes down how a Job ended. It may be done again after a crash: what it says follows from the Job alone.
func (c *Controller) finished(ctx context.Context, store objects, o *Object, op gate.Operation) error {
	job, err := c.Jobs.Get(ctx, op.Job, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Job %s: %w", op.Job, err)
	}
	o.Status.WaitingJob = ""
	if gate.Succeeded(job) {
		o.Status.Done, o.Status.Failing, o.Status.Failures, o.Status.FailedAt = o.goal(), "", 0, nil
		setCondition(o, op, metav1.ConditionTrue, ReasonSucceeded, "Job "+op.Job+" succeeded")
	} else {
		o.Status.Failing, o.Status.Failures, o.Status.FailedAt = o.goal(), attemptOf(job)+1, endOf(job)
		setCondition(o, op, metav1.ConditionFalse, ReasonFailed, "Job "+op.Job+" failed")
	}
	return store.update(ctx, o, true)
}

func attemptOf(job *batchv1.Job) int {
	n, _ := strconv.Atoi(job.Labels[LabelAttempt])
	return n
}

// endOf is when a Job failed.
func endOf(job *batchv1.Job) *metav1.Time {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed {
			return &c.LastTransitionTime
		}
	}
	return &job.CreationTimestamp
}

func condition(o *Object, op gate.Operation) *metav1.Condition {
	return meta.FindStatusCondition(o.Status.Conditions, op.Op.Condition())
}

func setCondition(o *Object, op gate.Operation, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&o.Status.Conditions, metav1.Condition{Type: op.Op.Condition(), Status: status, Reason: reason, Message: message, ObservedGeneration: o.Generation})
}
