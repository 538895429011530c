package terraform

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/lease/gate"
	"academy.example/lab/operator/lease/gate/gatetest"
)

func TestReconcile_AWaitIsUnknownIsToldOnceAndCountsForNothing(t *testing.T) {
	for op, of := range map[gate.Op]string{gate.Apply: "ApplyJobSucceeded", gate.Destroy: "ApplyJobSucceeded", gate.Restore: "RestoreJobSucceeded"} {
		synctest.Test(t, func(t *testing.T) {
			m := newManager(t, new(gatetest.Store))
			m.put(gate.Cluster, "c", Spec{})
			m.put(gate.MachinePool, "p", Spec{Op: op})
			m.pass(gate.Cluster, "c")
			for range 5 {
				if after := m.pass(gate.MachinePool, "p"); after != 30*time.Second {
					t.Errorf("looked at again after %s, want 30 s", after)
				}
				time.Sleep(30 * time.Second)
			}
			c := m.condition(gate.MachinePool, "p", of)
			if c.Status != metav1.ConditionUnknown || c.Reason != gate.WaitingForClusterOperation {
				t.Errorf("got %+v, want %s Unknown, %s", c, of, gate.WaitingForClusterOperation)
			}
			if s := m.read(gate.MachinePool, "p").Status; s.Failures != 0 || s.Failing != "" || s.Counted != 0 {
				t.Errorf("the wait counts: %+v", s)
			}
			m.wantEvents(1)
			if jobs := m.store.Names("jobs"); len(jobs) != 1 {
				t.Errorf("got Jobs %v, want the cluster's alone", jobs)
			}
			m.finish(batchv1.JobComplete)
			m.pass(gate.MachinePool, "p")
			if c := m.condition(gate.MachinePool, "p", of); c.Reason != ReasonRunning {
				t.Errorf("got %+v after the wait", c)
			}
		})
	}
}

// wantEvents wants so many events, all Normal.
func (m manager) wantEvents(n int) {
	m.t.Helper()
	names := m.store.Names("events")
	if len(names) != n {
		m.t.Errorf("got %d events, want %d", len(names), n)
	}
	for _, name := range names {
		e := new(corev1.Event)
		if m.store.Read("events", namespace, name, e); e.Type != corev1.EventTypeNormal {
			m.t.Errorf("got an event of type %s: %s", e.Type, e.Message)
		}
	}
}

func TestReconcile_ANewWaitIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Cluster, "c", Spec{})
		m.put(gate.Machine, "m", Spec{})
		m.pass(gate.Cluster, "c")
		m.pass(gate.Machine, "m")
		time.Sleep(time.Second)
		m.put(gate.Machine, "m", Spec{Inputs: "others"}) // another Job, another wait
		m.pass(gate.Machine, "m")
		m.wantEvents(2)
	})
}

// A refresh waits for the run lease alone, under its own condition.
func TestReconcile_ARefreshWaitsForTheRunLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Cluster, "c", Spec{})
		m.put(gate.Machine, "m", Spec{Op: gate.Drift})
		m.pass(gate.Cluster, "c")
		m.pass(gate.Machine, "m")
		if n := len(m.store.Names("jobs")); n != 2 {
			t.Fatalf("got %d Jobs, want the cluster's and the drift check", n)
		}
		m.put(gate.Machine, "m", Spec{Op: gate.Refresh})
		m.pass(gate.Machine, "m")
		if c := m.condition(gate.Machine, "m", "DriftJobSucceeded"); c.Reason != gate.WaitingForRunLease || c.Status != metav1.ConditionUnknown {
			t.Errorf("got %+v, want to wait for the run lease", c)
		}
	})
}

func TestReconcile_AWaitBeyondTheDeadlinePointsAtTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, new(gatetest.Store))
		m.put(gate.Cluster, "c", Spec{})
		m.put(gate.Machine, "m", Spec{})
		m.pass(gate.Cluster, "c")
		m.pass(gate.Machine, "m")
		time.Sleep(time.Hour + 30*time.Second)
		m.pass(gate.Machine, "m")
		if c := m.condition(gate.Machine, "m", "ApplyJobSucceeded"); !strings.Contains(c.Message, "kubectl -n n describe job tfc-") {
			t.Errorf("got %q", c.Message)
		}
		m.wantEvents(1)
	})
}
