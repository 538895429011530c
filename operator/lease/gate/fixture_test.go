package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"academy.example/lab/operator/lease/gate"
	"academy.example/lab/operator/lease/gate/gatetest"
)

const namespace = "n"

// world is a store, and the gate of a manager that works with it through client-go.
type world struct {
	t     *testing.T
	store *gatetest.Store
	gate  gate.Gate
	jobs  batchclient.JobInterface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store := new(gatetest.Store)
	leases, err := coordinationclient.NewForConfig(store.Config())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := batchclient.NewForConfig(store.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, store: store, jobs: jobs.Jobs(namespace),
		gate: gate.Gate{API: gate.Client{Leases: leases.Leases(namespace), Jobs: jobs.Jobs(namespace)}}}
}

// want is an operation of an object of the cluster c.
func want(kind gate.Kind, name string, op gate.Op) gate.Operation {
	o := gate.Object{Kind: kind, Namespace: namespace, Name: name, ClusterName: "c"}
	return gate.Operation{Object: o, Op: op, Job: o.JobName(op, "inputs"), Deadline: gate.DefaultDeadline}
}

func clusterApply() gate.Operation       { return want(gate.Cluster, "c", gate.Apply) }
func machine(name string) gate.Operation { return want(gate.Machine, name, gate.Apply) }
func other(op gate.Operation) (o gate.Operation) {
	o = op
	o.Job = op.Object.JobName(op.Op, "other inputs")
	return o
}

// job makes real Jobs in the store; its per-run Secret is a flag.
type job struct {
	w       *world
	name    string
	counted *bool
}

func (j job) Create(ctx context.Context) error {
	_, err := j.w.jobs.Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: j.name}}, metav1.CreateOptions{})
	return err
}

func (j job) Count(context.Context) (bool, error) {
	first := !*j.counted
	*j.counted = true
	return first, nil
}

// pass is one reconcile.
func (w *world) pass(op gate.Operation) (gate.Result, error) {
	counted := false
	return w.gate.Pass(w.t.Context(), op, job{w, op.Job, &counted})
}

// must is a pass that does not fail.
func (w *world) must(op gate.Operation) gate.Result {
	w.t.Helper()
	result, err := w.pass(op)
	if err != nil {
		w.t.Fatalf("%s: %v", op, err)
	}
	return result
}

// starts wants the pass to create the Job.
func (w *world) starts(op gate.Operation) {
	w.t.Helper()
	if r := w.must(op); !r.Created {
		w.t.Fatalf("%s: got %+v (%+v), want its Job created", op, r, r.Wait)
	}
}

// waits wants the pass to wait for a reason, and for these Jobs.
func (w *world) waits(op gate.Operation, reason string, jobs ...string) gate.Wait {
	w.t.Helper()
	r := w.must(op)
	if r.Wait == nil || r.Wait.Reason != reason || fmt.Sprint(r.Wait.Jobs) != fmt.Sprint(jobs) {
		w.t.Fatalf("%s: got %+v (%+v), want a wait, %s for %v", op, r, r.Wait, reason, jobs)
	}
	if w.lookJob(op.Job) {
		w.t.Fatalf("%s waits, and its Job was created", op)
	}
	return *r.Wait
}

// finish ends a Job.
func (w *world) finish(name string) {
	w.putJob(name, batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
}

func (w *world) putJob(name string, conditions ...batchv1.JobCondition) {
	w.store.Put("jobs", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: batchv1.JobStatus{Conditions: conditions}})
}

func (w *world) lookJob(name string) bool {
	return w.store.Read("jobs", namespace, name, new(batchv1.Job))
}

// lease reads a lease; nil if there is none.
func (w *world) lease(name string) *coordinationv1.Lease {
	lease := new(coordinationv1.Lease)
	if !w.store.Read("leases", namespace, name, lease) {
		return nil
	}
	return lease
}

func (w *world) holder(name string) string {
	if l := w.lease(name); l != nil {
		return *l.Spec.HolderIdentity
	}
	return ""
}

// count is how many of the requests since the last call were of that kind.
func count(log []gatetest.Request, method, resource string) (n int) {
	for _, r := range log {
		if r.Method == method && r.Resource == resource {
			n++
		}
	}
	return n
}

var errLost = errors.New("connection reset by peer")

const second = time.Second
