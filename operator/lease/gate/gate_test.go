package gate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/lease/gate"
)

func TestGate_KeepsApartWhatChangesSomething(t *testing.T) {
	gated := []gate.Op{gate.Apply, gate.Destroy, gate.Restore}
	for _, ours := range gate.Ops() {
		for _, theirs := range gate.Ops() {
			for _, kind := range []gate.Kind{gate.Machine, gate.MachinePool} {
				apart := slices.Contains(gated, ours) && slices.Contains(gated, theirs)
				w := newWorld(t)
				k, m := want(gate.Cluster, "c", ours), want(kind, "m", theirs)
				w.starts(m)
				if r := w.must(k); r.Created == apart {
					t.Errorf("cluster %s during %s of a %s: created %t", ours, theirs, kind, r.Created)
				}
				if has := w.lease(k.Object.ClusterLease()) != nil; has != slices.Contains(gated, ours) {
					t.Errorf("%s takes the cluster lease: %t", ours, has)
				}
				w = newWorld(t)
				w.starts(k)
				if r := w.must(m); r.Created == apart {
					t.Errorf("%s of a %s during cluster %s: created %t", theirs, kind, ours, r.Created)
				}
			}
		}
	}
}

func TestGate_AClusterWaitsWithBothLeasesAndNamesFiveJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		k := clusterApply()
		var jobs []string
		for i := range 7 {
			m := machine(fmt.Sprint("m", i))
			w.starts(m)
			jobs = append(jobs, m.Job)
		}
		slices.Sort(jobs)
		wait := w.waits(k, gate.WaitingForMachineOperations, jobs...)
		if w.holder(k.Object.RunLease()) != k.Job || w.holder(k.Object.ClusterLease()) != k.Job {
			t.Error("a cluster that waits does not keep both leases")
		}
		if got, want := wait.Message(0, namespace), "waiting for Job "+strings.Join(jobs[:5], ", ")+" and 2 more"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		for _, j := range jobs {
			w.finish(j)
		}
		w.starts(k)
	})
}

func TestGate_AMachineThatMeetsTheClusterGivesItsLeaseBack(t *testing.T) {
	w := newWorld(t)
	k, m := clusterApply(), machine("m")
	w.starts(k)
	w.waits(m, gate.WaitingForClusterOperation, k.Job)
	if l := w.lease(m.Object.RunLease()); l != nil {
		t.Errorf("the machine keeps its run lease: %+v", l)
	}
	w.finish(k.Job)
	w.starts(m)
}

// A pass that rebuilt the name of a Job that runs must not take the lease from under it.
func TestGate_AMachineWhoseJobExistsKeepsItsLease(t *testing.T) {
	w := newWorld(t)
	k, m := clusterApply(), machine("m")
	w.starts(m)
	if w.must(k).Wait == nil {
		t.Fatal("the cluster does not wait")
	}
	if wait, err := w.gate.Enter(t.Context(), m); err != nil || wait == nil { // as a pass with a stale look at its Job would
		t.Fatal(wait, err)
	}
	if w.holder(m.Object.RunLease()) != m.Job {
		t.Error("the lease of a Job that runs was given back")
	}
}

func TestGate_Off(t *testing.T) {
	w := newWorld(t)
	w.gate.Off = true
	k, m := clusterApply(), machine("m")
	w.starts(m)
	w.starts(k)
	w.waits(other(m), gate.WaitingForRunLease, m.Job)
	if w.lease(k.Object.ClusterLease()) != nil {
		t.Error("the cluster lease was taken")
	}
}

// Machines arrive every second, each with a Job of 20 s; the cluster starts as soon as those are done that were under way when it came.
func TestGate_TheWriterIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		k := clusterApply()
		ends, waiting := map[string]time.Time{}, []gate.Operation{}
		began, arrives, started := time.Now(), 15, time.Time{}
		for now := 0; now < 200 && started.IsZero(); now++ {
			for name, at := range ends {
				if !time.Now().Before(at) {
					w.finish(name)
					delete(ends, name)
				}
			}
			waiting = append(waiting, machine(fmt.Sprint("m", now)))
			waiting = slices.DeleteFunc(waiting, func(m gate.Operation) bool {
				created := w.must(m).Created
				if created {
					ends[m.Job] = time.Now().Add(20 * second)
				}
				return created
			})
			if now >= arrives && w.must(k).Created {
				started = time.Now()
			}
			time.Sleep(second)
		}
		// The last machine before the cluster began one tick before its lease; it takes 20 s.
		if got := started.Sub(began); got > 40*second || got < 30*second {
			t.Errorf("the cluster came at %d s and started at %s, want it at 35 s, when the last machine before it ends", arrives, got)
		}
		if len(waiting) < 15 {
			t.Errorf("%d machines wait behind the cluster, want all that came after it", len(waiting))
		}
	})
}

func TestGate_TheKnownGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		k, m := clusterApply(), machine("m")
		w.starts(m)
		w.waits(k, gate.WaitingForMachineOperations, m.Job)
		time.Sleep(gate.RequeueAfter)
		w.waits(k, gate.WaitingForMachineOperations, m.Job) // the last refresh
		refreshed := time.Now()
		w.finish(m.Job)
		changed := other(k)
		for {
			time.Sleep(gate.RequeueAfter)
			result := w.must(changed)
			if result.Created {
				break
			}
			if result.Wait.Reason != gate.WaitingForRunLease || result.Wait.Jobs[0] != k.Job {
				t.Fatalf("got %+v, want to wait for the name of before", result.Wait)
			}
			w.waits(machine("late"), gate.WaitingForClusterOperation, k.Job)
		}
		if got := time.Since(refreshed); got != 90*second {
			t.Errorf("blocked for %s, want 90 s: the grace, and the wait for the next pass", got)
		}
	})
}

func TestWait_LongerThanTheDeadlinePointsAtTheHolder(t *testing.T) {
	w := newWorld(t)
	k, m := clusterApply(), machine("m")
	w.starts(k)
	wait := w.waits(m, gate.WaitingForClusterOperation, k.Job)
	if got := wait.Message(time.Hour, namespace); strings.Contains(got, "describe") {
		t.Errorf("after an hour: %q", got)
	}
	got := wait.Message(time.Hour+second, namespace)
	if !strings.Contains(got, "kubectl -n n describe job "+k.Job) || !strings.Contains(got, "it can't finish") {
		t.Errorf("got %q, want it to point at the Job", got)
	}
}

func TestWait_ConditionOfEachOperation(t *testing.T) {
	for op, want := range map[gate.Op]string{gate.Apply: "ApplyJobSucceeded", gate.Destroy: "ApplyJobSucceeded", gate.Plan: "ApplyJobSucceeded",
		gate.Refresh: "DriftJobSucceeded", gate.Drift: "DriftJobSucceeded", gate.Restore: "RestoreJobSucceeded"} {
		if got := op.Condition(); got != want {
			t.Errorf("%s: got %s, want %s", op, got, want)
		}
	}
}

// The requests of a pass that meets nobody: a guard against reads that creep in.
func TestPass_Requests(t *testing.T) {
	w := newWorld(t)
	w.starts(clusterApply())
	k := clusterApply()
	want := []string{"GET jobs/" + k.Job, "POST leases/" + k.Object.RunLease(), "POST leases/" + k.Object.ClusterLease(), "GET leases", "POST jobs/" + k.Job}
	var got []string
	for _, r := range w.store.Requests() {
		got = append(got, r.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
