package readmission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"academy.example/lab/operator/lease/heartbeat"
)

// ErrObserveOnly is returned by an adapter that writes nothing.
var ErrObserveOnly = errors.New("the adapter is observe-only: ReadmissionGate was not yes when it was opened")

// Adapter hands jobs to a queue, if its gate could be proven when it was opened.
//
// It never looks at the gate again. If the controller goes down afterwards, jobs wait at their Pending check, and Inspect
// shows that. Open another adapter to look again.
type Adapter struct {
	gate      Gate
	preflight Preflight
}

// Open looks at the gate once. An adapter comes of it in any case: one that writes, or one that only observes.
func Open(ctx context.Context, gate Gate) *Adapter {
	return &Adapter{gate: gate, preflight: gate.Preflight(ctx)}
}

// Preflight is what Open saw.
func (a *Adapter) Preflight() Preflight { return a.preflight }

// ObserveOnly reports whether the adapter writes nothing.
func (a *Adapter) ObserveOnly() bool { return a.preflight.Verdict != heartbeat.Yes }

// Submit writes a job (a Workload) into a namespace. The error wraps ErrObserveOnly, with the reason, if the adapter may not.
//
// Kueue would reserve quota for the job and put the queue's checks on it as Pending. Without Kueue this does it in its place.
func (a *Adapter) Submit(ctx context.Context, namespace, name string) error {
	if a.ObserveOnly() {
		return fmt.Errorf("%w: %s", ErrObserveOnly, a.preflight.Reason)
	}
	jobs := a.gate.Kueue.Resource(Workloads).Namespace(namespace)
	job, err := jobs.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Group + "/" + Version, "kind": "Workload", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"queueName": a.gate.Queue},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("write job %s/%s: %w", namespace, name, err)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	job.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved",
			"message": "Quota reserved in ClusterQueue " + a.gate.Queue, "lastTransitionTime": now}},
		"admissionChecks": []any{map[string]any{"name": a.gate.Check, "state": Pending, "message": "", "lastTransitionTime": now}},
	}
	if _, err := jobs.UpdateStatus(ctx, job, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("reserve quota for job %s/%s: %w", namespace, name, err)
	}
	return nil
}

// Job is one job and its check. While State is Pending the job waits.
type Job struct {
	Name    string `json:"name"`
	Check   string `json:"check"`
	State   string `json:"state"`
	Message string `json:"message"`
	// WaitingSeconds is how long the check has been Pending; nil if it is not.
	WaitingSeconds *float64 `json:"waitingSeconds"`
}

// Inspect tells each job's check: its state, and what its controller says about it. It does not look at the Lease.
func (a *Adapter) Inspect(ctx context.Context, namespace string) ([]Job, error) {
	list, err := a.gate.Kueue.Resource(Workloads).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the jobs in %s: %w", namespace, err)
	}
	jobs := []Job{}
	for _, w := range list.Items {
		if check, ok := checkOf(&w, a.gate.Check); ok {
			jobs = append(jobs, jobOf(w.GetName(), check, time.Now()))
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int { return strings.Compare(a.Name, b.Name) })
	return jobs, nil
}

func jobOf(name string, check map[string]any, now time.Time) Job {
	text := func(field string) string { s, _ := check[field].(string); return s }
	job := Job{Name: name, Check: text("name"), State: text("state"), Message: text("message")}
	if job.State != Pending {
		return job
	}
	if since, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
		waiting := now.Sub(since).Seconds()
		job.WaitingSeconds = &waiting
	}
	job.Message = cmp.Or(job.Message, "no controller has answered yet")
	return job
}

// checkOf returns a job's check of that name, which can be changed in place.
func checkOf(job *unstructured.Unstructured, name string) (map[string]any, bool) {
	status, _ := job.Object["status"].(map[string]any)
	checks, _ := status["admissionChecks"].([]any)
	for _, c := range checks {
		if check, ok := c.(map[string]any); ok && check["name"] == name {
			return check, true
		}
	}
	return nil, false
}
