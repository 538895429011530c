package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

func TestWithLease_ReleasesOnlyAfterTheWorkHasStopped(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := new(electiontest.Store)
			a := guard(t, store, "a", 3*time.Second, without(func(g *api.Guards) { g.Release = guarded }))
			<-a.started
			halfway(3)
			a.stop()
			asked := <-a.stopped
			if err := <-a.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the cause of the request to stop", err)
			}
			release := store.Writes()[len(store.Writes())-1]
			if want := map[bool]time.Duration{true: 3 * time.Second, false: 0}[guarded]; release.Holder != "" || release.At.Sub(asked) != want {
				t.Errorf("guarded %t: got %v after %s, want a release after %s", guarded, release, release.At.Sub(asked), want)
			}
		})
	}
}

func TestWithLease_NeverReleasesWhileWorkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", time.Minute)
		<-a.started
		halfway(3)
		a.stop()
		asked := <-a.stopped
		if err := <-a.ended; !errors.Is(err, election.ErrStuck) || time.Since(asked) != election.StopLimit {
			t.Errorf("got %v after %s, want ErrStuck after %s", err, time.Since(asked), election.StopLimit)
		}
		if holder(store) != "a" || a.log.Count(api.MessageStuck) != 1 {
			t.Errorf("got holder %q, %s: want it left to expire", holder(store), a.log)
		}
		time.Sleep(time.Minute)
	})
}

func TestWithLease_ABlackHoleHoldsUpTheReleaseForItsLimitAtMost(t *testing.T) {
	for _, c := range []struct {
		timeout bool
		want    time.Duration
	}{{true, election.RequestTimeout(timing)}, {false, election.ReleaseLimit}} {
		synctest.Test(t, func(t *testing.T) {
			a := guard(t, new(electiontest.Store), "a", 0, without(func(g *api.Guards) { g.Client = c.timeout }))
			<-a.started
			halfway(3)
			a.client.Set(electiontest.Fault{Hang: true})
			a.stop()
			asked := time.Now()
			<-a.ended
			if got := time.Since(asked); got != c.want {
				t.Errorf("time-out %t: ended after %s, want %s", c.timeout, got, c.want)
			}
			if a.log.Count(api.MessageReleaseFailed) != 1 {
				t.Errorf("got %s, want that the release failed", a.log)
			}
		})
	}
}

// The lease changes hands while the work takes its time to stop.
func TestWithLease_NeverReleasesOverAnotherHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 2*time.Second)
		<-a.started
		halfway(3)
		a.stop()
		time.Sleep(time.Second)
		rewrite(t, store, "b")
		<-a.ended
		if holder(store) != "b" || a.log.Count(api.MessageReleaseFailed) != 1 {
			t.Errorf("got holder %q and %s, want b left alone", holder(store), a.log)
		}
	})
}

// The last renewal is still under way when the release begins: its commit makes the first try stale.
func TestWithLease_AReleaseThatMeetsItsOwnRenewalTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		<-a.started
		halfway(3)
		a.client.Set(electiontest.Fault{Response: 100 * time.Millisecond})
		a.stop()
		go func() {
			time.Sleep(50 * time.Millisecond) // between the release's read and its write
			rewrite(t, store, "a")
		}()
		<-a.ended
		if holder(store) != "" || a.log.Count(api.MessageReleased) != 1 {
			t.Errorf("got holder %q and %s, want a release", holder(store), a.log)
		}
	})
}
