package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/lease/election/electiontest"
)

// These tests hold two faults of client-go that the guarded election works around. They pass while the fault is there, and
// fail with the first version that has it no longer: then docs/election.md and the exercises that teach it are to be changed.

// still reports a fault that the running client-go is known to have.
func still(t *testing.T, present bool, what string) {
	t.Helper()
	if !present {
		t.Errorf("this client-go no longer does it: %s. Good news; say so in docs/election.md and in the exercises", what)
	}
}

// A leader is cut off, gives up, and its release reaches the API server when a standby has taken over. client-go reads the
// Lease, but asks its memory who the holder is.
func TestUpstream_TheOldLeaderWipesTheSuccessorsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		old := start(t, store, candidate{name: "old", release: true})
		<-old.started
		var standbys []*running
		for _, id := range []string{"b", "c", "d", "e", "f"} { // so many, that one surely takes over in time
			standbys = append(standbys, start(t, store, candidate{name: id, release: true}))
		}
		halfway(6)
		old.client.Set(electiontest.Fault{Hang: true})
		time.Sleep(timing.RetryPeriod/2 + timing.RenewDeadline - time.Millisecond)
		old.client.Set(electiontest.Fault{Request: timing.RenewDeadline - time.Second}) // the release's read takes the long way
		time.Sleep(2 * time.Millisecond)
		old.client.Set(electiontest.Fault{})
		<-old.stopped
		writes, wiped := store.Writes(), false
		for i, w := range writes[1:] {
			wiped = wiped || w.Holder == "" && writes[i].Holder != "old"
		}
		for _, s := range standbys {
			s.stop()
		}
		synctest.Wait()
		still(t, wiped, "the release of an old leader clears the holder of its successor")
	})
}

// A leader that could not renew gives the Lease away first and tells its workers after that.
func TestUpstream_ReleaseComesBeforeTheWorkersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		halfway(6)
		refused := time.Now()
		a.client.Set(electiontest.Fault{Refuse: errRefused})
		time.Sleep(timing.RetryPeriod/2 + timing.RenewDeadline - time.Millisecond) // the last renewal attempt has failed
		a.client.Set(electiontest.Fault{Request: time.Second})                     // healed, but slow
		stopped := <-a.stopped
		release := store.Writes()[len(store.Writes())-1]
		if release.Holder != "" || !release.At.After(refused) {
			t.Fatalf("got %v as the last write, want a release", release)
		}
		still(t, release.At.Before(stopped) || release.At.Equal(stopped), "the Lease is released before the workers' context is cancelled")
	})
}
