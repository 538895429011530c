package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"academy.example/lab/operator/api"
)

// Without --guard-client renewals wait behind the work in one rate limiter, and with it they never do.
func TestConnect_SharesTheRateLimiterOnlyWithoutGuardClient(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		election string
		guarded  bool
		shared   bool
	}{{api.ElectionGuarded, true, false}, {api.ElectionGuarded, false, true}, {api.ElectionPlain, false, false}} {
		o := options{election: c.election, guards: api.AllGuards(), kubeconfig: kubeconfig}
		o.guards.Client = c.guarded
		got, err := connect(o, os.Getenv, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if shared := got.lock.coordination.RESTClient().GetRateLimiter() == got.work.core.RESTClient().GetRateLimiter(); shared != c.shared {
			t.Errorf("%s, guard-client %t: shared %t", c.election, c.guarded, shared)
		}
	}
}
