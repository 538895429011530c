package election_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

// cluster is an API server whose Leases refuse what the real one refuses; LeaseCandidates and discovery are client-go's fake.
type cluster struct {
	*fake.Clientset
	leases *electiontest.Client
}

func (c cluster) CoordinationV1() typed.CoordinationV1Interface {
	return coordination{leases: c.leases}
}

// coordination panics on what it does not override.
type coordination struct {
	typed.CoordinationV1Interface
	leases *electiontest.Client
}

func (c coordination) Leases(namespace string) typed.LeaseInterface {
	return c.leases.Leases(namespace)
}

func newCluster(store *electiontest.Store, served ...string) cluster {
	c := cluster{fake.NewClientset(), store.Client()}
	list := &metav1.APIResourceList{GroupVersion: api.CoordinationVersion}
	for _, name := range served {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
	}
	if len(served) > 0 {
		c.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{list}
	}
	return c
}

// elected is one coordinated candidate in its own goroutines.
type elected struct {
	running
	cluster cluster
	ended   chan error
}

func stand(t *testing.T, store *electiontest.Store, identity string) *elected {
	ctx, cancel := context.WithCancel(t.Context())
	c := newCluster(store, api.CandidateResource)
	r := &elected{cluster: c, ended: make(chan error, 1), running: running{client: c.leases, log: new(electiontest.Lines), stop: cancel,
		started: make(chan time.Time, 1), stopped: make(chan time.Time, 1), exits: make(chan int, 1)}}
	go func() {
		r.ended <- election.Coordinated{
			Config:       election.Config{Namespace: namespace, Name: name, Identity: identity, Timing: api.Default(), ReleaseOnCancel: true},
			Coordination: api.Coordination{Strategy: api.StrategyOldest, BinaryVersion: "1.37.0", EmulationVersion: "1.36.0"},
			Client:       c,
			Log:          slog.New(slog.NewJSONHandler(r.log, nil)),
			Exit:         func(code int) { r.exits <- code },
			Work: func(ctx context.Context) {
				r.started <- time.Now()
				<-ctx.Done()
				r.stopped <- time.Now()
			},
		}.Run(ctx)
	}()
	return r
}

// write names a holder in the Lease, as the controller in the API server does; preferred may be empty.
func write(t *testing.T, store *electiontest.Store, holder, preferred string) {
	t.Helper()
	leases := store.Client().Leases(namespace)
	strategy, now := coordinationv1.OldestEmulationVersion, metav1.NowMicro()
	lease, err := leases.Get(t.Context(), name, metav1.GetOptions{})
	create := err != nil
	if create {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	lease.Spec.Strategy = &strategy
	if preferred != "" {
		lease.Spec.PreferredHolder = &preferred
	} else {
		lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds, lease.Spec.PreferredHolder = &holder, &now, ptr(int32(5)), nil
	}
	if create {
		_, err = leases.Create(t.Context(), lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(t.Context(), lease, updateOptions)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCoordinated_LeadsOnlyWhenTheAPIServerNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &electiontest.Store{Coordinates: true}
		a := stand(t, store, "a")
		time.Sleep(time.Minute)
		if n := len(store.Writes()); n != 0 {
			t.Errorf("a candidate wrote the Lease %d times before anybody named it", n)
		}
		said, err := a.cluster.CoordinationV1beta1().LeaseCandidates(namespace).Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil || said.Spec.LeaseName != name || said.Spec.BinaryVersion != "1.37.0" || said.Spec.EmulationVersion != "1.36.0" {
			t.Fatalf("got the candidate %+v, %v", said, err)
		}
		write(t, store, "b", "") // which is gone, and never renews
		time.Sleep(time.Minute)
		if lease := store.Lease(namespace, name); *lease.Spec.HolderIdentity != "b" {
			t.Errorf("took an expired Lease that named another: %v", lease.Spec)
		}
		named := time.Now()
		write(t, store, "a", "")
		if after := (<-a.started).Sub(named); after > longest {
			t.Errorf("led %s after it was named, want its next poll, %s at most", after, longest)
		}
		time.Sleep(time.Minute)
		lease := store.Lease(namespace, name)
		if *lease.Spec.LeaseDurationSeconds != 15 || *lease.Spec.LeaseTransitions != 0 || lease.Spec.Strategy == nil {
			t.Errorf("got %v, want its own LeaseDuration, no transition, and the strategy kept", lease.Spec)
		}
		if lease.Spec.AcquireTime != nil && !lease.Spec.AcquireTime.IsZero() {
			t.Errorf("acquireTime is %s, want none", lease.Spec.AcquireTime)
		}
		a.stop()
		<-a.ended
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitStopped)
		if lease := store.Lease(namespace, name); *lease.Spec.HolderIdentity != "" || lease.Spec.Strategy != nil {
			t.Errorf("after the release: %v, want no holder, and no strategy either", lease.Spec)
		}
	})
}

// longest is the longest pause of a candidate's polls.
const longest = 22 * time.Second / 5

func TestCoordinated_TheTermEndsWithAPreferredHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &electiontest.Store{Coordinates: true}
		write(t, store, "a", "")
		a := stand(t, store, "a")
		<-a.started
		time.Sleep(time.Minute + time.Second) // between two renewals
		preferred := time.Now()
		write(t, store, "", "older")
		stopped := <-a.stopped
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitLost)
		if after, timing := stopped.Sub(preferred), api.Default(); after <= timing.RenewDeadline-timing.RetryPeriod || after > timing.RenewDeadline+timing.RetryPeriod {
			t.Errorf("worked on for %s after another was preferred, want about RenewDeadline (%s)", after, timing.RenewDeadline)
		}
		if n := a.log.Count(api.MessageEndOfTerm); n == 0 {
			t.Errorf("got no line %q", api.MessageEndOfTerm)
		}
		if lease := store.Lease(namespace, name); *lease.Spec.HolderIdentity != "" {
			t.Errorf("the Lease still names %q", *lease.Spec.HolderIdentity)
		}
		a.stop()
	})
}

func TestCoordinated_RefusesAnAPIServerThatDoesNotElect(t *testing.T) {
	for name, c := range map[string]struct {
		cluster cluster
		want    string
	}{
		"no version":   {newCluster(&electiontest.Store{Coordinates: true}), "serves no leasecandidates"},
		"no resource":  {newCluster(&electiontest.Store{Coordinates: true}, "others"), "serves no leasecandidates"},
		"the gate off": {newCluster(new(electiontest.Store), api.CandidateResource), "drops the field strategy"},
		"one that can": {newCluster(&electiontest.Store{Coordinates: true}, api.CandidateResource), ""},
	} {
		err := election.Coordinates(t.Context(), c.cluster, namespace, "a")
		var problem api.Problem
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v", name, err)
		case c.want != "" && (!errors.As(err, &problem) || !strings.Contains(err.Error(), c.want) || !strings.Contains(problem.Hint, api.CoordinationFlags)):
			t.Errorf("%s: got %v with hint %q, want %q", name, err, problem.Hint, c.want)
		}
	}
}

func TestCoordinated_WaitsForAnAPIServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &electiontest.Store{Coordinates: true}
		write(t, store, "a", "")
		a := stand(t, store, "a")
		a.client.Set(electiontest.Fault{Refuse: errRefused})
		time.Sleep(time.Minute)
		if n := a.log.Count(api.MessageLeaseRequest); n < 20 {
			t.Errorf("told %d failures in a minute, want one each RetryPeriod", n)
		}
		write(t, store, "a", "")
		a.client.Set(electiontest.Fault{})
		<-a.started
		time.Sleep(time.Minute)
		a.stop()
		<-a.ended
	})
}
