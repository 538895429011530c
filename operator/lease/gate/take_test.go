package gate_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/lease/gate"
	"academy.example/lab/operator/lease/gate/gatetest"
)

func TestRecord_LabelsAnnotationsAndNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		long := strings.Repeat("long-", 40) + "name"
		k, m := clusterApply(), machine(long)
		w.starts(m)
		w.waits(k, gate.WaitingForMachineOperations, m.Job)
		for _, c := range []struct {
			op         gate.Operation
			name, kind string
		}{{k, k.Object.RunLease(), "run"}, {k, k.Object.ClusterLease(), "cluster"}, {m, m.Object.RunLease(), "run"}} {
			l := w.lease(c.name)
			if l == nil {
				t.Fatalf("no lease %s", c.name)
			}
			if l.Labels["captf.io/lease"] != c.kind || l.Labels["captf.io/managed"] != "true" || l.Labels[gate.LabelKind] != string(c.op.Object.Kind) || l.Labels[gate.LabelCluster] != "c" {
				t.Errorf("%s: got labels %v", c.name, l.Labels)
			}
			if l.Annotations["captf.io/lease-op"] != "apply" || l.Annotations["captf.io/lease-acquired-at"] != time.Now().UTC().Format(time.RFC3339Nano) {
				t.Errorf("%s: got annotations %v", c.name, l.Annotations)
			}
			if *l.Spec.HolderIdentity != c.op.Job || *l.Spec.LeaseDurationSeconds != 4500 {
				t.Errorf("%s: got holder %s for %d s, want %s for 4500 s", c.name, *l.Spec.HolderIdentity, *l.Spec.LeaseDurationSeconds, c.op.Job)
			}
		}
	})
}

func TestNames_AreDeterministicAndAsLongForOneNameAsForAnother(t *testing.T) {
	short, long := machine("m").Object, machine(strings.Repeat("m", 253)).Object
	if len(short.RunLease()) != len(long.RunLease()) || len(short.JobName(gate.Apply, "")) != len(long.JobName(gate.Apply, "a long input")) || len(short.JobName(gate.Refresh, "")) > 63 {
		t.Errorf("names: %s %s %s", short.RunLease(), long.RunLease(), long.JobName(gate.Apply, ""))
	}
	pool := want(gate.MachinePool, "m", gate.Apply).Object
	elsewhere := short
	elsewhere.Namespace = "other"
	if short.RunLease() == pool.RunLease() || short.RunLease() == elsewhere.RunLease() || short.ClusterLease() == elsewhere.ClusterLease() {
		t.Error("different objects share a lease")
	}
	if short.ClusterLease() != long.ClusterLease() || short.ClusterLease() != clusterApply().Object.ClusterLease() {
		t.Error("one cluster has two cluster leases")
	}
	name, again := short.JobName(gate.Apply, "a"), short.JobName(gate.Apply, "a")
	if name != again || name == short.JobName(gate.Apply, "b") || name == short.JobName(gate.Plan, "a") {
		t.Error("the name of a Job does not follow from operation and inputs")
	}
}

func TestBackstop_IsTheDeadlineAndFifteenMinutes(t *testing.T) {
	if got := gate.Backstop(time.Hour); got != 4500*second {
		t.Errorf("got %s, want 4500 s", got)
	}
}

func TestTake_CreatesOrUpdatesTheVersionItReadLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m := machine("m")
		w.starts(m)
		w.finish(m.Job)
		w.store.Requests()
		w.starts(other(m))
		var leases []string
		for _, r := range w.store.Requests() {
			if r.Method == http.MethodGet && r.Version != "" {
				t.Errorf("%s is satisfied with version %q: a read of a cache", r, r.Version)
			}
			if r.Resource == "leases" && r.Name == m.Object.RunLease() {
				leases = append(leases, r.Method)
			}
		}
		if got := strings.Join(leases, " "); got != "POST GET PUT" {
			t.Errorf("got %s, want one create, one live read, one update", got)
		}
	})
}

func TestTake_RefreshesItsOwnTakesAFreeOneLeavesAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		m := machine("m")
		lease := m.Object.RunLease()
		if wait, err := w.gate.Enter(t.Context(), m); wait != nil || err != nil {
			t.Fatal(wait, err)
		}
		first := w.lease(lease)
		time.Sleep(40 * second)
		w.waits(other(m), gate.WaitingForRunLease, m.Job)
		if w.holder(lease) != m.Job {
			t.Fatal("another's lease was taken")
		}
		if wait, err := w.gate.Enter(t.Context(), m); wait != nil || err != nil {
			t.Fatal(wait, err)
		}
		refreshed := w.lease(lease)
		if refreshed.UID != first.UID || refreshed.Spec.AcquireTime.Sub(first.Spec.AcquireTime.Time) != 40*second {
			t.Errorf("acquired at %s after %s, want 40 s later", refreshed.Spec.AcquireTime, first.Spec.AcquireTime)
		}
		time.Sleep(40 * second)
		w.waits(other(m), gate.WaitingForRunLease, m.Job) // 80 s after the taking, 40 s after the refresh
		time.Sleep(21 * second)
		w.starts(other(m))
	})
}

func TestTake_LoserTriesOnceInAReconcile(t *testing.T) {
	for _, race := range []string{http.MethodPost, http.MethodPut} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			m := machine("m")
			rival := newWorld(t)
			rival.store = w.store
			once := false
			if race == http.MethodPut {
				w.starts(other(m))
				w.finish(other(m).Job)
			}
			w.store.Requests()
			w.store.Before(func(r gatetest.Request) {
				if r.Method != race || r.Resource != "leases" || once {
					return
				}
				once = true // another manager is quicker by this much
				record := gate.Record{Name: m.Object.RunLease(), Type: gate.LeaseRun, Owner: m.Object, Op: gate.Apply, Holder: "rival", Acquired: time.Now(), Backstop: time.Hour}
				w.store.Put("leases", record.Lease())
			})
			r := w.must(m)
			if r.Wait == nil || r.Wait.Reason != gate.WaitingForRunLease {
				t.Errorf("%s: got %+v, want a wait", race, r)
			}
			log := w.store.Requests()
			if count(log, http.MethodPost, "leases") != 1 || count(log, http.MethodPut, "leases") > 1 || count(log, http.MethodPost, "jobs") != 0 {
				t.Errorf("%s: got %v, want one attempt and no Job", race, log)
			}
			if w.holder(m.Object.RunLease()) != "rival" {
				t.Errorf("%s: the winner's lease is gone", race)
			}
		})
	}
}

func TestFree_Boundaries(t *testing.T) {
	const absent, runs, finished = "absent", "runs", "finished"
	for _, c := range []struct {
		job  string
		age  time.Duration
		free bool
	}{
		{absent, 59 * second, false}, {absent, 60 * second, false}, {absent, 60*second + time.Nanosecond, true}, {absent, 61 * second, true},
		{finished, 0, true},
		{runs, 61 * second, false}, {runs, 4499 * second, false}, {runs, 4500 * second, false}, {runs, 4501 * second, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			m := machine("m")
			if _, err := w.gate.Enter(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			switch c.job {
			case runs:
				w.putJob(m.Job)
			case finished:
				w.finish(m.Job)
			}
			time.Sleep(c.age)
			if c.free {
				w.starts(other(m))
			} else {
				w.waits(other(m), gate.WaitingForRunLease, m.Job)
			}
		})
	}
}

func TestFree_WithoutAHolder(t *testing.T) {
	w := newWorld(t)
	m := machine("m")
	w.store.Put("leases", gate.Record{Name: m.Object.RunLease(), Owner: m.Object, Acquired: time.Now(), Backstop: time.Hour}.Lease())
	w.starts(m)
}

// The ages are one manager's clock less another's: a reader whose clock is a minute ahead frees a lease whose Job is about to be created.
func TestFree_AClockAMinuteAheadFreesALiveLease(t *testing.T) {
	for skew, overlap := range map[time.Duration]bool{59 * second: false, 61 * second: true} {
		w := newWorld(t)
		k, m := clusterApply(), machine("m")
		if wait, err := w.gate.Enter(t.Context(), m); wait != nil || err != nil {
			t.Fatal(wait, err)
		}
		ahead := newWorld(t)
		ahead.store, ahead.gate, ahead.jobs = w.store, w.gate, w.jobs
		ahead.gate.Now = func() time.Time { return time.Now().Add(skew) }
		if r := ahead.must(k); r.Created != overlap {
			t.Errorf("%s ahead: got %+v, want its Job created: %t", skew, r, overlap)
		}
	}
}
