package gatelab

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/operator/lease/gate"
)

// job is a gated one, the cluster's if its name begins with c, done or not.
func job(name string, done bool) *batchv1.Job {
	kind := gate.Machine
	if name[0] == 'c' {
		kind = gate.Cluster
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", ResourceVersion: "1", Labels: map[string]string{gate.LabelKind: string(kind), "captf.io/op": string(gate.Apply)}}}
	if done {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	return j
}

func jobList(jobs ...*batchv1.Job) *batchv1.JobList {
	list := &batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: "100"}}
	for _, j := range jobs {
		list.Items = append(list.Items, *j)
	}
	return list
}

// TestObserver_AfterAGap lists what changed while no watch was there: what must have overlapped does, what need not have does not, and
// where the order matters it is not said to have been seen.
func TestObserver_AfterAGap(t *testing.T) {
	for _, c := range []struct {
		name     string
		before   []*batchv1.Job
		listed   *batchv1.JobList
		overlaps int
		done     int
		unseen   bool
	}{
		{"nothing changed", []*batchv1.Job{job("m1", false)}, jobList(job("m1", false)), 0, 0, false},
		{"machines only", []*batchv1.Job{job("m1", false)}, jobList(job("m1", true), job("m2", false), job("m3", true)), 0, 2, false},
		{"the cluster after the machine, or before", []*batchv1.Job{job("m1", false)}, jobList(job("c1", false), job("m1", true)), 0, 1, true},
		{"both run", []*batchv1.Job{job("m1", false)}, jobList(job("c1", false), job("m1", false)), 1, 0, false},
		{"both came and went", nil, jobList(job("m1", true), job("c1", true)), 0, 2, true},
		{"one was deleted", []*batchv1.Job{job("m1", false)}, jobList(), 0, 0, false},
	} {
		o := newObserver(nil, "n")
		for _, j := range c.before {
			o.on(watch.Event{Type: watch.Added, Object: j})
		}
		o.listed(c.listed, &coordinationv1.LeaseList{})
		changes, unseen := o.all()
		j := Judge(changes)
		if len(j.Overlaps) != c.overlaps || j.Done != c.done || (unseen != "") != c.unseen {
			t.Errorf("%s: got overlaps %q, %d done, unseen %q", c.name, j.Overlaps, j.Done, unseen)
		}
	}
}

// A lease that a list shows after its Job has begun is no turn that waits.
func TestObserver_ALeaseSeenLateIsNoTurn(t *testing.T) {
	o := newObserver(nil, "n")
	holder := "c1"
	o.listed(jobList(job("c1", false)), &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: "101"}, Items: []coordinationv1.Lease{{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}}})
	changes, _ := o.all()
	if j := Judge(changes); len(changes) != 2 || len(j.Open) != 0 {
		t.Errorf("got %+v of %+v, want no turn that waits", j.Open, changes)
	}
}

// TestObserver_BeginsAWatchAgain ends a watch: what was changed meanwhile is found, and what comes then is seen.
func TestObserver_BeginsAWatchAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		watches := make(chan *watch.FakeWatcher, 10)
		client.PrependWatchReactor("jobs", func(clienttesting.Action) (bool, watch.Interface, error) {
			w := watch.NewFake()
			watches <- w
			return true, w, nil
		})
		l := &Lab{Namespace: "n", watcher: client}
		o, err := l.observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Tracker().Add(job("m1", false)); err != nil {
			t.Fatal(err)
		}
		(<-watches).Stop()
		(<-watches).Add(job("m2", false))
		synctest.Wait()
		changes, unseen := o.all()
		var names []string
		for _, c := range changes {
			names = append(names, c.Job)
		}
		if !slices.Equal(names, []string{"m1", "m2"}) || unseen != "" {
			t.Errorf("got the Jobs %q, unseen %q", names, unseen)
		}
		select {
		case <-o.lost:
			t.Error("it gave up")
		default:
		}
	})
}

// TestObserver_GivesUp is told within half a minute if the API server stays away.
func TestObserver_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := watch.NewFake()
		client.PrependWatchReactor("jobs", func(clienttesting.Action) (bool, watch.Interface, error) { return true, first, nil })
		o, err := (&Lab{Namespace: "n", watcher: client}).observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		client.PrependReactor("list", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		begun := time.Now()
		first.Stop()
		<-o.lost
		if took := time.Since(begun); took < awayLimit || took > awayLimit+time.Second {
			t.Errorf("it gave up after %s, want %s", took, awayLimit)
		}
		if _, unseen := o.all(); !strings.Contains(unseen, "connection refused") {
			t.Errorf("got %q", unseen)
		}
	})
}
