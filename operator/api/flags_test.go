package api

import (
	"slices"
	"testing"
)

func TestCheckElection(t *testing.T) {
	for _, name := range []string{ElectionPlain, ElectionGuarded, "raft", ""} {
		err := CheckElection(name)
		if built := slices.Contains(Elections(), name); (err == nil) != built {
			t.Errorf("%q: got %v, built is %t", name, err, built)
		}
		if err != nil && Problems(err)[0].Hint != "--election=plain" {
			t.Errorf("%q: got hint %q, want --election=plain", name, Problems(err)[0].Hint)
		}
	}
}
