package readmission

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Answerer is the controller on the other side of the gate: it answers the check of each job. Only a leader should run it, so
// that replicas do not duplicate work; that two which both believe they lead do no harm is not the Lease's doing. Each write
// names the version that was read, so of two writes the API server refuses the second.
type Answerer struct {
	Kueue      dynamic.Interface // get, list and update status of admissionchecks and workloads
	Namespace  string            // of the jobs
	Check      string
	Controller string
	Identity   string // in the message of each answer
}

// ErrNotThere is wrapped by There's error if the API server says that the check, or its kind, does not exist.
var ErrNotThere = errors.New("it does not exist")

// There looks whether the check is there. Without it there is nothing to answer, and waiting for it says nothing to anybody.
func (a Answerer) There(ctx context.Context) error {
	_, err := a.Kueue.Resource(AdmissionChecks).Get(ctx, a.Check, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("AdmissionCheck %s: %w", a.Check, ErrNotThere)
	}
	if err != nil {
		return fmt.Errorf("read AdmissionCheck %s: %w", a.Check, err)
	}
	return nil
}

// Every is how often an Answerer looks.
const Every = 500 * time.Millisecond

// Run says that the check is Active and then answers jobs until ctx ends. What fails is told and tried again.
func (a Answerer) Run(ctx context.Context, tell func(error)) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for active := false; ; {
		if err := a.once(ctx, &active); err != nil && ctx.Err() == nil {
			tell(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return // the condition Active stays: nothing clears it
		}
	}
}

func (a Answerer) once(ctx context.Context, active *bool) error {
	if !*active {
		if err := a.Activate(ctx); err != nil {
			return err
		}
		*active = true
	}
	_, err := a.Answer(ctx)
	return err
}

// Activate sets the check's condition Active to True, once: as such controllers do, it is never set to False again.
func (a Answerer) Activate(ctx context.Context) error {
	checks := a.Kueue.Resource(AdmissionChecks)
	check, err := checks.Get(ctx, a.Check, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read AdmissionCheck %s: %w", a.Check, err)
	}
	if name, _, _ := unstructured.NestedString(check.Object, "spec", "controllerName"); name != a.Controller {
		return fmt.Errorf("AdmissionCheck %s names controller %q, not %s", a.Check, name, a.Controller)
	}
	check.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": Active, "status": "True", "reason": Active,
		"message": "The admission check is active", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}
	if _, err := checks.UpdateStatus(ctx, check, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("say that AdmissionCheck %s is Active: %w", a.Check, err)
	}
	return nil
}

// Answer makes each Pending check Ready and returns how many. A job that somebody else wrote in between is left to the next look.
func (a Answerer) Answer(ctx context.Context) (answered int, err error) {
	jobs := a.Kueue.Resource(Workloads).Namespace(a.Namespace)
	list, err := jobs.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the jobs in %s: %w", a.Namespace, err)
	}
	var failed []error
	for _, job := range list.Items {
		check, ok := checkOf(&job, a.Check)
		if !ok || check["state"] != Pending {
			continue
		}
		check["state"], check["message"] = Ready, "answered by "+a.Identity
		check["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
		switch _, err := jobs.UpdateStatus(ctx, &job, metav1.UpdateOptions{}); {
		case err == nil:
			answered++
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		default:
			failed = append(failed, fmt.Errorf("answer job %s: %w", job.GetName(), err))
		}
	}
	return answered, errors.Join(failed...)
}
