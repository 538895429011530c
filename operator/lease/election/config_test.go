package election_test

import (
	"strings"
	"testing"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
)

func TestConfig_ValidateReportsEverythingAtOnce(t *testing.T) {
	good := election.Config{Namespace: "n", Name: "l", Identity: "i", Timing: api.Default()}
	if err := good.Validate(); err != nil {
		t.Errorf("got %v for a good Config", err)
	}
	got := api.Problems(election.Config{Timing: api.Timing{}}.Validate())
	if len(got) != 7 {
		t.Errorf("got %d problems, want 3 names and 4 relations: %q", len(got), got)
	}
	for _, p := range got {
		if p.Hint == "" {
			t.Errorf("problem %q does not say what to type", p.What)
		}
	}
}

func TestIdentity(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == key {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, c := range []struct {
		kind, given    string
		getenv         func(string) string
		prefix, source string
		random         bool
	}{
		{api.IdentityPod, "mine", env("POD_NAME", "op-1"), "mine", "--identity-name", false},
		{api.IdentityPod, "", env("POD_NAME", "op-1", "HOSTNAME", "host"), "op-1", "POD_NAME", false},
		{api.IdentityPod, "", env("HOSTNAME", "host"), "host", "HOSTNAME", false},
		{api.IdentityPod, "", env(), api.Program + "-", "random", true},
		{api.IdentityPodUUID, "", env("POD_NAME", "op-1"), "op-1_", "POD_NAME", true},
	} {
		one, source, err := election.Identity(c.kind, c.given, c.getenv)
		two, _, _ := election.Identity(c.kind, c.given, c.getenv)
		if err != nil || source != c.source || !strings.HasPrefix(one, c.prefix) {
			t.Errorf("%s: got %q from %s, %v, want %q from %s", c.kind, one, source, err, c.prefix, c.source)
		}
		if c.random == (one == two) {
			t.Errorf("%s: got %q and %q from two processes, want them different: %t", c.kind, one, two, c.random)
		}
	}
	if _, _, err := election.Identity("hostname", "", env()); err == nil || api.Problems(err)[0].Hint == "" {
		t.Errorf("got %v for an unknown kind, want an error with a hint", err)
	}
}
