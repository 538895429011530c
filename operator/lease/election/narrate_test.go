package election_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

func TestNarrate_FailedAttemptsOfAStandbyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a"})
		<-a.started
		b := start(t, store, candidate{name: "b"})
		b.client.Set(electiontest.Fault{Refuse: errors.New("connection refused")})
		time.Sleep(9 * time.Second)
		attempts, failures := b.log.All(api.MessageAttempt), b.log.All(api.MessageLeaseRequest)
		if len(attempts) < 2 || len(failures) < 2 {
			t.Fatalf("got %d attempts and %d failures in 9s, want two or more", len(attempts), len(failures))
		}
		if n := attempts[1][api.KeyAttempt]; n != 2.0 {
			t.Errorf("got number %v on the second attempt, want 2", n)
		}
		if f := failures[0]; f[api.KeyRequest] != "get" || f[api.KeyError] != "connection refused" || f["level"] != "WARN" {
			t.Errorf("got %v, want the request and its error as a warning", f)
		}
		a.stop()
		b.stop()
	})
}

func TestNarrate_OtherPartsOfClientGoPassOnlyWithErrors(t *testing.T) {
	out := new(electiontest.Lines)
	ctx := election.Narrate(context.Background(), slog.New(slog.NewJSONHandler(out, nil)))
	log := klog.FromContext(ctx).WithValues("err", "inherited").WithName("someone")
	log.Info("chatter")
	log.V(4).Info("more chatter")
	log.V(6).Info("never asked for")
	log.Error(errors.New("no route"), "something broke")
	if text := out.String(); out.Count(api.MessageLibrary) != 1 || out.Last(api.MessageLibrary)[api.KeyError] != "no route" {
		t.Errorf("got %s, want the error alone", text)
	}
}

func TestNarrate_AReleaseThatFindsNoLeaseIsToldAsFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		a := start(t, store, candidate{name: "a", release: true})
		<-a.started
		time.Sleep(time.Second)
		store.Remove(namespace, name)
		a.stop()
		synctest.Wait()
		if a.log.Count(api.MessageReleaseFailed) != 1 {
			t.Errorf("got %s, want %q", a.log.String(), api.MessageReleaseFailed)
		}
	})
}
