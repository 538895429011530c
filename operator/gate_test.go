package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

// The last look at the clock is in the transport: behind the rate limiter, in front of the network.
func TestGated_NoWriteLeavesAfterTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[string]int{}
		transport := gated(roundTripper(func(r *http.Request) (*http.Response, error) {
			sent[r.Method]++
			return httptest.NewRecorder().Result(), nil
		}))
		send := func(ctx context.Context, method string) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour) // as each request's context is derived from the work's
			defer cancel()
			answer, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, method, "/", nil))
			if err == nil {
				answer.Body.Close()
			}
			return err
		}
		store, led, ended := new(electiontest.Store), make(chan context.Context, 1), make(chan error, 1)
		client := store.Client()
		go func() {
			ended <- election.WithLease(t.Context(), election.Guarded{
				Config: election.Config{Namespace: "n", Name: "l", Identity: "a", Timing: api.Default()}, Guards: api.AllGuards(),
				Client: client, Log: slog.New(slog.DiscardHandler), AfterFunc: func(time.Duration, func()) func() bool { return func() bool { return true } }, // a timer that never fires
			}, election.Controller{Name: "work", Run: func(ctx context.Context) error {
				led <- ctx
				<-ctx.Done()
				return nil
			}})
		}()
		ctx := <-led
		if err := send(ctx, http.MethodPut); err != nil {
			t.Errorf("got %v while leading", err)
		}
		client.Set(electiontest.Fault{Hang: true})
		time.Sleep(api.Default().RenewDeadline)
		if err := send(ctx, http.MethodPut); err == nil || !strings.Contains(err.Error(), "not sent: ") {
			t.Errorf("got %v at the deadline, want a refusal with its reason", err)
		}
		if err := send(ctx, http.MethodGet); err != nil {
			t.Errorf("got %v for a read", err)
		}
		if err := send(t.Context(), http.MethodPost); err != nil {
			t.Errorf("got %v for a write that belongs to no leadership", err)
		}
		if sent[http.MethodPut] != 1 || sent[http.MethodGet] != 1 || sent[http.MethodPost] != 1 {
			t.Errorf("got %v sent", sent)
		}
		<-ended
	})
}
