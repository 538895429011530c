package election_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

// These tests run the real elector of client-go in virtual time. A bubble must end with no goroutine left, so each of them
// also proves that nothing outlives its candidate.

func TestPlainIsShort(t *testing.T) {
	text, err := os.ReadFile("plain.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(text, []byte("\n")); lines > 150 {
		t.Errorf("plain.go has %d lines, want at most 150: it is the file that students read", lines)
	}
}

func TestWorkersStopWhenAskedToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, new(electiontest.Store), candidate{name: "a", release: true})
		<-a.started
		time.Sleep(time.Minute)
		a.stop()
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitStopped)
		if stopped := <-a.stopped; !stopped.Equal(time.Now()) {
			t.Errorf("workers stopped %s after the request to stop, want at once", time.Until(stopped))
		}
	})
}

func TestLossIsALogLineAndAnExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, new(electiontest.Store), candidate{name: "a", release: true})
		<-a.started
		timing := api.Default()
		time.Sleep(15*timing.RetryPeriod + timing.RetryPeriod/2) // half-way between two renewals
		cut := time.Now()
		a.client.Set(electiontest.Fault{Refuse: errors.New("connection refused")})
		<-a.stopped
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitLost)
		if n := a.log.Count(api.MessageStoppedLead); n != 1 {
			t.Errorf("got %d lines %q, want one", n, api.MessageStoppedLead)
		}
		if believed, want := time.Since(cut), timing.RetryPeriod/2+timing.RenewDeadline; believed != want {
			t.Errorf("leader believed for %s after it was cut off, want %s: RetryPeriod + RenewDeadline after its last renewal", believed, want)
		}
		for message, want := range map[string]int{api.MessageRenewFailed: 1, api.MessageReleaseFailed: 1} {
			if got := a.log.Count(message); got != want {
				t.Errorf("got %d lines %q, want %d", got, message, want)
			}
		}
		if a.log.Count(api.MessageLeaseRequest) == 0 {
			t.Error("no failed renewal is told")
		}
	})
}

func TestReleaseLeavesAnEmptyHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		b := start(t, store, candidate{name: "b", release: true})
		time.Sleep(time.Minute + rand.N(api.Default().RetryPeriod))
		stopped := time.Now()
		a.stop()
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitStopped)
		if holder := *store.Lease(namespace, name).Spec.HolderIdentity; holder != "" {
			t.Errorf("got holder %q after a release, want none", holder)
		}
		<-b.started
		if gap, most := time.Since(stopped), 22*api.Default().RetryPeriod/10; gap > most {
			t.Errorf("standby led after %s, want at most 2.2 × RetryPeriod = %s", gap, most)
		}
		if got := *store.Lease(namespace, name).Spec.LeaseTransitions; got != 1 {
			t.Errorf("got %d transitions, want 1: a release alone is not one", got)
		}
		b.stop()
	})
}

func TestWithoutReleaseTheStandbyWaitsForTheExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a"})
		<-a.started
		b := start(t, store, candidate{name: "b"})
		time.Sleep(time.Minute + rand.N(api.Default().RetryPeriod))
		stopped := time.Now()
		a.stop()
		<-b.started
		timing := api.Default()
		low, high := timing.LeaseDuration-timing.RetryPeriod, timing.LeaseDuration+44*timing.RetryPeriod/10
		if gap := time.Since(stopped); gap < low || gap > high {
			t.Errorf("standby led after %s, want %s to %s", gap, low, high)
		}
		a.mustHaveEnded(t, api.ExitStopped)
		b.stop()
	})
}

func TestStandbyNeverWorksButTellsItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		b := start(t, store, candidate{name: "b", release: true})
		time.Sleep(30 * time.Second)
		if attempts := b.log.Count(api.MessageAttempt); attempts < 6 || attempts > 16 {
			t.Errorf("got %d attempts in 30s, want one each 2 to 4.4s", attempts)
		}
		if line := b.log.Last(api.MessageAttempt); line[api.KeyHolder] != "a" {
			t.Errorf("got %v, want the holder in it", line)
		}
		b.stop()
		synctest.Wait()
		b.mustHaveEnded(t, api.ExitStopped)
		for _, message := range []string{api.MessageStartedLead, api.MessageStoppedLead} {
			if b.log.Count(message) != 0 {
				t.Errorf("a standby that never led says %q", message)
			}
		}
		if len(b.started) != 0 {
			t.Error("a standby worked")
		}
		if holder := *store.Lease(namespace, name).Spec.HolderIdentity; holder != "a" {
			t.Errorf("got holder %q after a standby was stopped, want a", holder)
		}
		a.stop()
	})
}

// The recipe's own weak point: in a black hole the release comes before the workers are told to stop, and hangs. One standby
// finds the lease free in time in 99 of 100 cases; with five it is sure enough for a test.
func TestInABlackHoleTwoLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		for _, name := range []string{"b", "c", "d", "e", "f"} {
			standby := start(t, store, candidate{name: name})
			defer standby.stop()
		}
		time.Sleep(time.Minute)
		a.client.Set(electiontest.Fault{Hang: true})
		cut := time.Now()
		stopped := <-a.stopped
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitLost)

		writes := store.Writes()
		takeover := writes[slices.IndexFunc(writes, func(w electiontest.Write) bool { return w.Transitions == 1 })]
		if !takeover.At.Before(stopped) {
			t.Errorf("the old leader worked until %s after the cut and the new one began at %s, want an overlap", stopped.Sub(cut), takeover.At.Sub(cut))
		}
		timing := api.Default()
		if worked, most := stopped.Sub(cut), timing.RetryPeriod+2*timing.RenewDeadline; worked > most || worked <= timing.LeaseDuration {
			t.Errorf("the old leader worked for %s after the cut, want more than LeaseDuration and at most %s", worked, most)
		}
	})
}

func TestAStolenLeaseIsToldAtOnceAndLostLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		time.Sleep(30 * time.Second)
		lease := store.Lease(namespace, name)
		lease.Spec.HolderIdentity = ptr("thief")
		if _, err := store.Client().Leases(namespace).Update(t.Context(), lease, updateOptions); err != nil {
			t.Fatal(err)
		}
		stolen := time.Now()
		<-a.stopped
		if worked, most := time.Since(stolen), api.Default().RetryPeriod+api.Default().RenewDeadline; worked > most {
			t.Errorf("the old leader worked for %s after the theft, want at most %s", worked, most)
		}
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitLost)
		if line := a.log.Last(api.MessageHeldByOther); line[api.KeyHolder] != "thief" {
			t.Errorf("got %v, want a line that names the thief", line)
		}
		if holder := *store.Lease(namespace, name).Spec.HolderIdentity; holder != "thief" {
			t.Errorf("got holder %q, want thief", holder)
		}
	})
}

func TestACandidateIsStoppedBeforeItEverReachedTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a := startIn(ctx, new(electiontest.Store), candidate{name: "a", release: true})
		synctest.Wait()
		a.mustHaveEnded(t, api.ExitStopped)
	})
}
