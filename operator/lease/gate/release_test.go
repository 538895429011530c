package gate_test

import (
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/lease/gate"
	"academy.example/lab/operator/lease/gate/gatetest"
)

func TestRelease_ThePassThatCountsAJobGivesItsLeasesBack(t *testing.T) {
	for _, op := range []gate.Operation{clusterApply(), machine("m"), want(gate.Cluster, "c", gate.Plan)} {
		w := newWorld(t)
		w.starts(op)
		w.finish(op.Job)
		counted := false
		for pass, first := range []bool{true, false} {
			r, err := w.gate.Pass(t.Context(), op, job{w, op.Job, &counted})
			if err != nil || !r.Finished || r.Counted != first {
				t.Errorf("%s, pass %d: got %+v, %v, want it counted: %t", op, pass, r, err, first)
			}
		}
		if n := len(w.store.Names("leases")); n != 0 {
			t.Errorf("%s: %d leases are left", op, n)
		}
	}
}

// fails makes the creation of Jobs fail.
func (w *world) fails(f gatetest.Fault) {
	w.store.Fail(func(r gatetest.Request) *gatetest.Fault {
		if r.Method == http.MethodPost && r.Resource == "jobs" {
			return &f
		}
		return nil
	})
}

func TestRelease_ARejectedCreateGivesBothBackAtOnce(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason metav1.StatusReason
	}{
		{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid}, {http.StatusForbidden, metav1.StatusReasonForbidden},
		{http.StatusUnauthorized, metav1.StatusReasonUnauthorized}, {http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge},
		{http.StatusNotFound, metav1.StatusReasonNotFound},
	} {
		w := newWorld(t)
		w.fails(gatetest.Fault{Code: c.code, Reason: string(c.reason)})
		k := clusterApply()
		if _, err := w.pass(k); apierrors.ReasonForError(err) != c.reason {
			t.Errorf("%s: got %v", c.reason, err)
		}
		if left := w.store.Names("leases"); len(left) != 0 {
			t.Errorf("%s: %v are left", c.reason, left)
		}
	}
}

func TestRelease_ARejectedCreateOfAJobThatExistsKeepsThem(t *testing.T) {
	w := newWorld(t)
	k := clusterApply()
	looked := false
	w.store.Fail(func(r gatetest.Request) *gatetest.Fault {
		switch {
		case r.Method == http.MethodPost && r.Resource == "jobs":
			w.putJob(k.Job) // an earlier pass's create lands now
			return &gatetest.Fault{Code: http.StatusForbidden, Reason: string(metav1.StatusReasonForbidden)}
		case r.Method == http.MethodGet && r.Resource == "jobs":
			looked = true
		}
		return nil
	})
	if _, err := w.pass(k); !apierrors.IsForbidden(err) || !looked {
		t.Fatalf("got %v", err)
	}
	if w.holder(k.Object.RunLease()) != k.Job || w.holder(k.Object.ClusterLease()) != k.Job {
		t.Error("the leases of a Job that exists were given back")
	}
}

func TestRelease_ATimeoutOrAServerErrorKeepsThem(t *testing.T) {
	for name, f := range map[string]gatetest.Fault{
		"reset": {Err: errLost}, "reset, and created": {Err: errLost, Done: true},
		"504": {Code: 504, Reason: string(metav1.StatusReasonTimeout)}, "504, and created": {Code: 504, Reason: string(metav1.StatusReasonTimeout), Done: true},
		"500": {Code: 500, Reason: string(metav1.StatusReasonInternalError)}, "503": {Code: 503, Reason: string(metav1.StatusReasonServiceUnavailable)},
	} {
		w := newWorld(t)
		w.fails(f)
		k := clusterApply()
		if _, err := w.pass(k); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if w.holder(k.Object.RunLease()) != k.Job || w.holder(k.Object.ClusterLease()) != k.Job {
			t.Errorf("%s: the leases were given back, and the Job may exist", name)
		}
		w.store.Fail(nil)
		if r := w.must(k); r.Created == f.Done || r.Running != f.Done {
			t.Errorf("%s: the next pass: got %+v", name, r)
		}
	}
}

func TestRelease_ALeaseThatAnotherTookMeanwhileStays(t *testing.T) {
	w := newWorld(t)
	m := machine("m")
	w.starts(m)
	w.finish(m.Job)
	conflicts := 0
	w.store.Before(func(r gatetest.Request) {
		if r.Method == http.MethodDelete && r.Resource == "leases" {
			conflicts++
			w.store.Put("leases", gate.Record{Name: m.Object.RunLease(), Type: gate.LeaseRun, Owner: m.Object, Op: gate.Apply, Holder: other(m).Job, Acquired: time.Now(), Backstop: time.Hour}.Lease())
		}
	})
	if r := w.must(m); !r.Counted || conflicts != 1 {
		t.Errorf("got %+v after %d deletions, want it counted after one", r, conflicts)
	}
	if w.holder(m.Object.RunLease()) != other(m).Job {
		t.Error("the lease of another Job was deleted")
	}
	w.store.Before(nil)
	w.must(m) // whoever holds it now is not this Job: nothing is deleted
	if w.holder(m.Object.RunLease()) != other(m).Job {
		t.Error("the lease of another Job was deleted by the next pass")
	}
}

func TestRelease_OneThatFailsIsOnlyLoggedAndTheNextJobProceeds(t *testing.T) {
	w := newWorld(t)
	m := machine("m")
	w.starts(m)
	w.finish(m.Job)
	w.store.Fail(func(r gatetest.Request) *gatetest.Fault {
		if r.Method == http.MethodDelete {
			return &gatetest.Fault{Code: 500, Reason: string(metav1.StatusReasonInternalError)}
		}
		return nil
	})
	if r := w.must(m); !r.Counted {
		t.Errorf("got %+v, want it counted", r)
	}
	if w.holder(m.Object.RunLease()) != m.Job {
		t.Fatal("the release went through")
	}
	w.starts(other(m))
}

func TestCleanup_DeletesEveryLeaseOfTheObjectAndNoOther(t *testing.T) {
	w := newWorld(t)
	k, m := clusterApply(), machine("m")
	w.starts(m)
	w.must(k) // waits, with both
	if err := w.gate.Cleanup(t.Context(), k.Object); err != nil {
		t.Fatal(err)
	}
	if left := w.store.Names("leases"); len(left) != 1 || left[0] != m.Object.RunLease() {
		t.Errorf("got %v, want the machine's alone", left)
	}
}
