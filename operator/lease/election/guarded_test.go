package election_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

var timing = api.Default()

func TestWithLease_WorkThatEndsByItselfReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		r := new(guardedRun).with(t, store, "a", nil, election.Controller{Name: "job", Run: func(context.Context) error {
			time.Sleep(time.Minute)
			return nil
		}})
		if err := <-r.ended; err != nil {
			t.Errorf("got %v, want nil", err)
		}
		if holder(store) != "" {
			t.Errorf("got holder %q, want none", holder(store))
		}
		if r.log.Count(api.MessageReleased) != 1 || r.log.Count(api.MessageStoppedLead) != 1 || r.log.Count(api.MessageLost) != 0 {
			t.Errorf("got %s", r.log)
		}
	})
}

func TestWithLease_OneLeaseGuardsSeveralControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, broken := new(electiontest.Store), errors.New("broken")
		started := make(chan string, 9)
		controller := func(name string, end <-chan time.Time, result error) election.Controller {
			return election.Controller{Name: name, Run: func(ctx context.Context) error {
				started <- name
				select {
				case <-end:
					return result
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
		}
		a := new(guardedRun).with(t, store, "a", nil, controller("one", nil, nil), controller("two", time.After(20*time.Second), nil), controller("three", time.After(time.Minute), broken))
		synctest.Wait()
		b := new(guardedRun).with(t, store, "b", nil, controller("one", nil, nil), controller("two", nil, nil))
		synctest.Wait()
		if len(started) != 3 {
			t.Errorf("got %d controllers at work, want the three of one replica", len(started))
		}
		begin := time.Now()
		if err := <-a.ended; !errors.Is(err, broken) || time.Since(begin) != time.Minute {
			t.Errorf("got %v after %s, want the error of the controller that failed; it ends the others", err, time.Since(begin))
		}
		if holder(store) != "" {
			t.Errorf("got holder %q: a did not release", holder(store))
		}
		time.Sleep(5 * time.Second)
		if holder(store) != "b" || len(started) != 5 {
			t.Errorf("got holder %q and %d controllers, want both of b beside the three that ended", holder(store), len(started))
		}
		b.stop()
		<-b.ended
	})
}

func TestWithLease_ATakeoverRaceHasOneWinner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		var all []*guardedRun
		for _, id := range strings.Split("abcdefgh", "") {
			r := guard(t, store, id, 0)
			r.client.Set(electiontest.Fault{Request: 50 * time.Millisecond, Response: 50 * time.Millisecond}) // all read before one writes
			all = append(all, r)
		}
		time.Sleep(time.Second)
		winners, conflicts := 0, 0
		for _, r := range all {
			winners += len(r.started)
			conflicts += r.log.Count(api.MessageLeaseRequest)
			r.stop()
		}
		if winners != 1 || conflicts != len(all)-1 {
			t.Errorf("got %d winners and %d refused requests of %d candidates, want one and the rest", winners, conflicts, len(all))
		}
		for _, r := range all {
			<-r.ended
		}
	})
}

// The answer to the last renewal comes 3 s late, then nothing comes. client-go counts from the answer; a standby can't.
func TestWithLease_TheDeadlineCountsFromBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		<-a.started
		halfway(3)
		a.client.Set(electiontest.Fault{Response: 3 * time.Second})
		time.Sleep(timing.RetryPeriod) // the renewal is committed by now, and its answer is on the way
		a.client.Set(electiontest.Fault{Hang: true})
		committed := store.Writes()[len(store.Writes())-1].At
		if got := (<-a.stopped).Sub(committed); got != timing.RenewDeadline {
			t.Errorf("worked for %s after the last renewal was sent, want %s", got, timing.RenewDeadline)
		}
		if err := <-a.ended; !errors.Is(err, election.ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})
}

// Good news that comes after the deadline is no news: somebody else may lead by the time the next write arrives.
func TestWithLease_ATermThatIsOverIsNotRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := guard(t, new(electiontest.Store), "a", 0, without(func(g *api.Guards) { g.Client = false }), func(g *election.Guarded) {
			g.AfterFunc = func(time.Duration, func()) func() bool { return func() bool { return true } } // a timer that is very late
		})
		ctx := <-a.started
		time.Sleep(time.Second)
		a.client.Set(electiontest.Fault{Response: timing.RenewDeadline - timing.RetryPeriod + time.Second})
		time.Sleep(timing.RenewDeadline + 500*time.Millisecond) // the answer to the renewal has come by now, 1s after the deadline
		if err := election.May(ctx); err == nil {
			t.Error("an answer that came after the deadline revived the term")
		}
		a.stop()
		<-a.ended
	})
}

func TestWithLease_WithoutTheDeadlineItCountsAsClientGoDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := guard(t, new(electiontest.Store), "a", 0, without(func(g *api.Guards) { g.Deadline = false }))
		<-a.started
		cut := halfway(3)
		a.client.Set(electiontest.Fault{Hang: true})
		if got, want := (<-a.stopped).Sub(cut), timing.RetryPeriod/2+timing.RenewDeadline; got != want {
			t.Errorf("worked for %s after the cut, want %s", got, want)
		}
		<-a.ended
	})
}

// LP-4: a fixed interval can't be had with client-go inside. It waits RetryPeriod after each answer.
func TestElector_RenewsARetryPeriodAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		a.client.Set(electiontest.Fault{Request: 250 * time.Millisecond, Response: 250 * time.Millisecond})
		<-a.started
		time.Sleep(time.Minute)
		writes := store.Writes()
		if got, want := writes[9].At.Sub(writes[8].At), timing.RetryPeriod+500*time.Millisecond; got != want {
			t.Errorf("renewals are %s apart with 0.5s a request, want RetryPeriod + that = %s", got, want)
		}
		a.stop()
		<-a.ended
	})
}

// One renewal is swallowed by the network. With a time-out there is time for another; without, it takes the whole deadline.
func TestWithLease_OneLostRequestIsNoLoss(t *testing.T) {
	for _, timeout := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a := guard(t, new(electiontest.Store), "a", 0, without(func(g *api.Guards) { g.Client = timeout }))
			<-a.started
			halfway(3)
			a.client.Set(electiontest.Fault{Hang: true})
			time.Sleep(timing.RetryPeriod)
			a.client.Set(electiontest.Fault{})
			time.Sleep(time.Minute)
			if kept := len(a.ended) == 0; kept != timeout {
				t.Errorf("time-out %t: kept the lease is %t", timeout, kept)
			}
			a.stop()
			<-a.ended
		})
	}
}

func TestRequestTimeout_IsAtLeastASecondForEachValidTiming(t *testing.T) {
	for lease := range 20 {
		for renew := range lease {
			for retry := range renew {
				timing := api.Timing{LeaseDuration: time.Duration(lease) * time.Second, RenewDeadline: time.Duration(renew) * time.Second, RetryPeriod: time.Duration(retry) * time.Second}
				if timing.Validate() == nil && election.RequestTimeout(timing) < time.Second {
					t.Errorf("%s: got %s", timing, election.RequestTimeout(timing))
				}
			}
		}
	}
}

func TestWithLease_ASecondElectorOfOneIdentityIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		<-a.started
		twin := guard(t, store, "a", 0, func(g *election.Guarded) { g.Client = a.client })
		if err := <-twin.ended; err == nil || api.Problems(err)[0].Hint == "" {
			t.Errorf("got %v, want a problem and what to do", err)
		}
		a.stop()
		<-a.ended
	})
}

func TestWithLease_ATwinInAnotherProcessIsCaughtAtTheNextRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		<-a.started
		halfway(3)
		twin := guard(t, store, "a", 0)
		<-twin.started
		met := time.Now()
		if both := (<-a.stopped).Sub(met); both > timing.RetryPeriod {
			t.Errorf("both led for %s, want at most a RetryPeriod", both)
		}
		if err := <-a.ended; !errors.Is(err, election.ErrLost) || !strings.Contains(err.Error(), "under this identity") {
			t.Errorf("got %v, want the reason", err)
		}
		time.Sleep(time.Minute)
		if len(twin.ended) != 0 {
			t.Errorf("the twin lost as well: %v", <-twin.ended)
		}
		twin.stop()
		<-twin.ended
	})
}

func TestWithLease_AStolenOrDeletedOrEmptiedLeaseEndsTheTermAtOnce(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		done         func(*testing.T, *electiontest.Store)
	}{
		{"stolen", "held by thief", func(t *testing.T, s *electiontest.Store) { rewrite(t, s, "thief") }},
		{"emptied", "released", func(t *testing.T, s *electiontest.Store) { rewrite(t, s, "") }},
		{"deleted", "deleted", func(_ *testing.T, s *electiontest.Store) { s.Remove(namespace, name) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(electiontest.Store)
			a := guard(t, store, "a", 0)
			ctx := <-a.started
			at := halfway(3)
			c.done(t, store)
			if worked := (<-a.stopped).Sub(at); worked > timing.RetryPeriod {
				t.Errorf("%s: worked for %s, want at most a RetryPeriod", c.name, worked)
			}
			if err := election.May(ctx); err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: got %v, want the reason why nothing may be written", c.name, err)
			}
			err := <-a.ended
			if !errors.Is(err, election.ErrLost) || a.log.Count(api.MessageReleased) != 0 {
				t.Errorf("%s: got %v and %s, want a loss without a release", c.name, err, a.log)
			}
			if line := a.log.Last(api.MessageLost); line == nil || !slices.Equal(line[api.KeyControllers].([]any), []any{"work"}) {
				t.Errorf("%s: got %v, want the controllers in the line", c.name, line)
			}
		})
	}
}

func rewrite(t *testing.T, store *electiontest.Store, holder string) {
	t.Helper()
	lease := store.Lease(namespace, name)
	lease.Spec.HolderIdentity = &holder
	if _, err := store.Client().Leases(namespace).Update(t.Context(), lease, updateOptions); err != nil {
		t.Fatal(err)
	}
}

func TestWithLease_RejoinsInProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := guard(t, store, "a", 0)
		<-a.started
		halfway(3)
		rewrite(t, store, "thief")
		<-a.ended
		begin := time.Now()
		again := guard(t, store, "a", 0)
		ctx := <-again.started
		if waited := time.Since(begin); waited < timing.LeaseDuration-timing.RetryPeriod {
			t.Errorf("led again after %s: it has to wait for the thief's expiry like anybody", waited)
		}
		if number, ok := election.Token(ctx); !ok || number != 1 {
			t.Errorf("got token %d, %t, want 1: the thief did not raise it", number, ok)
		}
		again.stop()
		<-again.ended
	})
}

func TestWithLease_ReportsEveryProblemBeforeItContends(t *testing.T) {
	store := new(electiontest.Store)
	r := new(guardedRun).with(t, store, "", []option{func(g *election.Guarded) { g.Timing = api.Timing{} }},
		election.Controller{Name: "one", Check: func() error { return errors.New("no topic") }}, election.Controller{Name: "two", Check: func() error { return nil }})
	problems := api.Problems(<-r.ended)
	if len(problems) != 6 || problems[5].What != "controller one: no topic" {
		t.Errorf("got %q, want identity, four relations and the controller's own", problems)
	}
	if store.Lease(namespace, name) != nil {
		t.Error("it contended all the same")
	}
	none := new(guardedRun).with(t, store, "a", nil)
	if err := <-none.ended; err == nil {
		t.Error("got nil without any work")
	}
}
