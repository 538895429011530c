package terraform

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"academy.example/lab/operator/lease/gate"
	"academy.example/lab/operator/lease/gate/gatetest"
)

const namespace = "n"

// manager is a controller on a store.
type manager struct {
	*Controller
	t     *testing.T
	store *gatetest.Store
}

func newManager(t *testing.T, store *gatetest.Store) manager {
	t.Helper()
	config := store.Config()
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := batchclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	return manager{t: t, store: store, Controller: &Controller{Namespace: namespace, Client: objects, Jobs: jobs.Jobs(namespace),
		Secrets: core.Secrets(namespace), Events: core.Events(namespace), Image: "image:1", Log: log,
		Gate: gate.Gate{API: gate.Client{Leases: leases.Leases(namespace), Jobs: jobs.Jobs(namespace)}, Log: log}}}
}

// put makes an object, or changes what is wanted of it.
func (m manager) put(kind gate.Kind, name string, spec Spec) {
	o := m.read(kind, name)
	if o == nil {
		o = &Object{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	o.TypeMeta = metav1.TypeMeta{APIVersion: Group + "/" + Version, Kind: string(kind)}
	if kind != gate.Cluster {
		spec.ClusterName = "c"
	}
	o.Spec = spec
	m.store.Put(Resource(kind).Resource, o)
}

func (m manager) read(kind gate.Kind, name string) *Object {
	o := new(Object)
	if !m.store.Read(Resource(kind).Resource, namespace, name, o) {
		return nil
	}
	o.Kind = string(kind)
	return o
}

// pass is one reconcile that must not fail.
func (m manager) pass(kind gate.Kind, name string) time.Duration {
	m.t.Helper()
	after, err := m.Reconcile(m.t.Context(), kind, name)
	if err != nil {
		m.t.Fatal(err)
	}
	return after
}

// finish ends all Jobs that run.
func (m manager) finish(as batchv1.JobConditionType) {
	for _, name := range m.store.Names("jobs") {
		job := new(batchv1.Job)
		m.store.Read("jobs", namespace, name, job)
		if gate.StateOf(job) == gate.Running {
			job.Status.Conditions = []batchv1.JobCondition{{Type: as, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
			m.store.Put("jobs", job)
		}
	}
}

func (m manager) condition(kind gate.Kind, name, of string) metav1.Condition {
	m.t.Helper()
	for _, c := range m.read(kind, name).Status.Conditions {
		if c.Type == of {
			return c
		}
	}
	return metav1.Condition{}
}

func TestReconcile_TheSecretIsDeletedOnceForEachJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Machine, "m", Spec{Inputs: "a"})
		m.pass(gate.Machine, "m")
		if len(m.store.Names("secrets")) != 1 || len(m.store.Names("leases")) != 1 {
			t.Fatalf("got secrets %v and leases %v, want one each", m.store.Names("secrets"), m.store.Names("leases"))
		}
		m.finish(batchv1.JobComplete)
		m.store.Requests()
		for range 3 {
			m.pass(gate.Machine, "m")
		}
		if n := deletions(m.store.Requests(), "secrets"); n != 1 {
			t.Errorf("the Secret was deleted %d times", n)
		}
		if s := m.read(gate.Machine, "m").Status; s.Counted != 1 || len(m.store.Names("leases")) != 0 {
			t.Errorf("got %+v and leases %v, want it counted once and nothing left", s, m.store.Names("leases"))
		}
	})
}

func deletions(log []gatetest.Request, resource string) (n int) {
	for _, r := range log {
		if r.Method == http.MethodDelete && r.Resource == resource {
			n++
		}
	}
	return n
}

// A manager that crashes after the Secret is gone counts nothing twice, and the outcome is not lost.
func TestReconcile_ACrashAfterTheCountLosesNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Machine, "m", Spec{})
		m.pass(gate.Machine, "m")
		m.finish(batchv1.JobComplete)
		m.store.Fail(func(r gatetest.Request) *gatetest.Fault {
			if r.Method == http.MethodPut {
				return &gatetest.Fault{Code: 500, Reason: string(metav1.StatusReasonInternalError)}
			}
			return nil
		})
		if _, err := m.Reconcile(t.Context(), gate.Machine, "m"); err == nil {
			t.Fatal("the status was written")
		}
		m.store.Fail(nil)
		m.pass(gate.Machine, "m")
		if s := m.read(gate.Machine, "m").Status; s.Done == "" || s.Counted != 0 {
			t.Errorf("got %+v", s)
		}
	})
}

func TestReconcile_AJobOfInputsOfBeforeIsCountedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Machine, "m", Spec{Inputs: "a"})
		m.pass(gate.Machine, "m")
		m.put(gate.Machine, "m", Spec{Inputs: "b"})
		m.pass(gate.Machine, "m")
		if c := m.condition(gate.Machine, "m", "ApplyJobSucceeded"); c.Reason != gate.WaitingForRunLease {
			t.Fatalf("got %+v, want one Job at a time", c)
		}
		m.finish(batchv1.JobComplete)
		m.pass(gate.Machine, "m")
		s := m.read(gate.Machine, "m").Status
		if s.Counted != 1 || len(m.store.Names("jobs")) != 2 || len(m.store.Names("secrets")) != 1 {
			t.Errorf("got %+v, Jobs %v, Secrets %v", s, m.store.Names("jobs"), m.store.Names("secrets"))
		}
	})
}

func TestReconcile_AFailedJobBacksOffUpToACap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Machine, "m", Spec{Fail: true})
		for n := 1; n <= mostFailures; n++ {
			m.pass(gate.Machine, "m")
			m.finish(batchv1.JobFailed)
			m.pass(gate.Machine, "m")
			if after := m.pass(gate.Machine, "m"); after != firstBackOff<<(n-1) && n < mostFailures {
				t.Errorf("failure %d: again after %s", n, after)
			}
			time.Sleep(firstBackOff << (n - 1))
		}
		m.pass(gate.Machine, "m")
		if s := m.read(gate.Machine, "m").Status; s.Failures != mostFailures || len(m.store.Names("jobs")) != mostFailures {
			t.Errorf("got %+v and %d Jobs, want %d of both", s, len(m.store.Names("jobs")), mostFailures)
		}
	})
}

func TestReconcile_ADestroyedObjectLeavesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Cluster, "c", Spec{})
		m.pass(gate.Cluster, "c")
		m.finish(batchv1.JobComplete)
		m.pass(gate.Cluster, "c")
		now := metav1.Now()
		o := m.read(gate.Cluster, "c")
		o.DeletionTimestamp = &now
		m.store.Put(Resource(gate.Cluster).Resource, o)
		m.pass(gate.Cluster, "c") // its destroy
		m.finish(batchv1.JobComplete)
		m.pass(gate.Cluster, "c") // is counted
		stray := gate.Record{Name: "left", Type: gate.LeaseRun, Owner: gate.Object{Kind: gate.Cluster, Namespace: namespace, Name: "c", ClusterName: "c"}, Holder: "gone", Backstop: time.Hour}
		m.store.Put("leases", stray.Lease())
		if m.read(gate.Cluster, "c") == nil {
			t.Fatal("it is gone before its leases")
		}
		m.pass(gate.Cluster, "c")
		if left := m.store.Names("leases"); len(left) != 0 || m.read(gate.Cluster, "c") != nil {
			t.Errorf("leases %v are left, the object: %v", left, m.read(gate.Cluster, "c"))
		}
	})
}

// A create that is refused leaves neither lease nor Secret.
func TestReconcile_ARefusedJobLeavesNothing(t *testing.T) {
	m := newManager(t, new(gatetest.Store))
	m.put(gate.Cluster, "c", Spec{})
	m.store.Fail(func(r gatetest.Request) *gatetest.Fault {
		if r.Method == http.MethodPost && r.Resource == "jobs" {
			return &gatetest.Fault{Code: http.StatusForbidden, Reason: string(metav1.StatusReasonForbidden)}
		}
		return nil
	})
	if _, err := m.Reconcile(t.Context(), gate.Cluster, "c"); err == nil {
		t.Fatal("got no error")
	}
	if left := slices.Concat(m.store.Names("leases"), m.store.Names("secrets")); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// A pass that stands still before its Job ends within the grace, without the Job.
func TestReconcile_APassEndsWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.Pause = 2 * gate.Grace
		m.put(gate.Machine, "m", Spec{})
		began := time.Now()
		_, err := m.Reconcile(t.Context(), gate.Machine, "m")
		if took := time.Since(began); err == nil || took >= gate.Grace || len(m.store.Names("jobs")) != 0 {
			t.Errorf("got %v after %s and Jobs %v", err, took, m.store.Names("jobs"))
		}
	})
}

// Ten machines, two passes each, while a cluster applies: whatever the order, the Jobs of both never run at once.
func TestReconcile_NoOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Cluster, "c", Spec{})
		for i := range 10 {
			m.put(gate.Machine, fmt.Sprint("m", i), Spec{})
		}
		for range 4 {
			for i := range 10 {
				m.pass(gate.Machine, fmt.Sprint("m", i))
				if i == 4 {
					m.pass(gate.Cluster, "c")
				}
				m.wantNoOverlap()
			}
			m.finish(batchv1.JobComplete)
			time.Sleep(gate.RequeueAfter)
		}
		if n := len(m.store.Names("jobs")); n != 11 {
			t.Errorf("got %d Jobs, want all eleven", n)
		}
	})
}

func (m manager) wantNoOverlap() {
	m.t.Helper()
	running := map[string]int{}
	for _, name := range m.store.Names("jobs") {
		job := new(batchv1.Job)
		if m.store.Read("jobs", namespace, name, job); gate.StateOf(job) == gate.Running {
			running[job.Labels[gate.LabelKind]]++
		}
	}
	if running[string(gate.Cluster)] > 0 && running[string(gate.Machine)] > 0 {
		m.t.Errorf("overlap: %v", running)
	}
}
