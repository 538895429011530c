package model

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the traces of testdata anew")

// TestModel_TheGateHoldsInEveryOrder runs the gate's own code in every order of the requests of a cluster and two machines.
func TestModel_TheGateHoldsInEveryOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("every order of its requests: half a minute of processor time")
	}
	for _, scope := range Scopes(Right) {
		r, err := Check(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != "" || !r.Whole || r.MostOvertaken != 1 {
			t.Errorf("%+v: %q, overtaken %d times\n%s", scope, r.Violation, r.MostOvertaken, text(r))
		}
		if r.States < 100_000 {
			t.Errorf("%+v: only %d states: most of the orders are gone", scope, r.States)
		}
		t.Logf("%+v: %d states, %d steps in %s", scope, r.States, r.Steps, r.Took)
	}
}

// TestModel_WrongVariantsFail holds the shortest way to each fault.
func TestModel_WrongVariantsFail(t *testing.T) {
	for _, v := range Variants()[1:] {
		r, err := Find(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation == "" {
			t.Errorf("%s: no fault was found: the check finds nothing", v)
			continue
		}
		file := filepath.Join("testdata", string(v)+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(text(r)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(r); got != string(want) {
			t.Errorf("%s: got:\n%s\nwant:\n%s", v, got, want)
		}
	}
}

func text(r Report) string {
	var b strings.Builder
	for _, e := range r.Trace {
		fmt.Fprintf(&b, "%3d s  %-9s  %s\n", e.Seconds, e.Actor, e.Text)
	}
	return b.String()
}
