package lab

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/operator/api"
)

func TestTelling(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "it wrote nothing",
		"one\n\n":                       "its last lines: one",
		"one\ntwo\nthree\nfour\n":       "its last lines: two | three | four",
		"a\npanic: b\n\ngoroutine 1\nx": "its last lines: a | panic: b",
		strings.Repeat("ä", 200):        "its last lines: " + strings.Repeat("ä", 150) + "…",
	} {
		if got := telling(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A trial in which the check that a subject is known by was not judged does not count, and a start counts once.
func TestTried_Take(t *testing.T) {
	worksOn, _ := mutant.ByName(api.MutantWorksOn)
	overlap, other := mutant.Alarm{Name: "overlap-none", Reason: "r"}, mutant.Alarm{Name: "transitions", Reason: "r"}
	for name, c := range map[string]struct {
		look                   mutant.Look
		void, caught           bool
		trials, voided, unseen int
	}{
		"nothing wrong":                 {mutant.Look{}, false, false, 1, 0, 0},
		"its alarm":                     {mutant.Look{Alarms: []mutant.Alarm{overlap}}, false, true, 1, 0, 0},
		"another alarm":                 {mutant.Look{Alarms: []mutant.Alarm{other}}, false, false, 1, 0, 0},
		"a disturbed one":               {mutant.Look{Unseen: []mutant.Alarm{overlap}}, true, false, 0, 1, 0},
		"not judged":                    {mutant.Look{Unseen: []mutant.Alarm{overlap}}, false, false, 0, 0, 1},
		"another rule not judged":       {mutant.Look{Unseen: []mutant.Alarm{other}}, false, false, 1, 0, 0},
		"another alarm, its not judged": {mutant.Look{Alarms: []mutant.Alarm{other}, Unseen: []mutant.Alarm{overlap}}, false, false, 0, 0, 1},
	} {
		tried := Tried{Subject: Subject{Mutant: worksOn, Wrong: true}}
		if caught := tried.take(c.look, c.void); caught != c.caught || tried.Trials != c.trials || tried.Void != c.voided || tried.Unseen != c.unseen {
			t.Errorf("%s: caught %t, %+v", name, caught, tried)
		}
	}
}

func TestTried_Unstarted(t *testing.T) {
	noDurations, _ := mutant.ByName(api.MutantNoDurations)
	own := Tried{Subject: Subject{Mutant: noDurations, Wrong: true}}
	if own.unstarted(mutant.Begin{Exit: 2, Why: "w"}); own.Caught == nil || own.Trials != 1 || own.Err != nil {
		t.Errorf("its own symptom: got %+v", own)
	}
	other := Tried{Subject: Subject{Mutant: noDurations, Wrong: true}}
	if other.unstarted(mutant.Begin{Exit: 7, Why: "w", Log: "; l"}); other.Caught != nil || other.Trials != 0 || other.Err == nil || !strings.HasSuffix(other.Err.Error(), "w; l") {
		t.Errorf("another symptom: got %+v", other)
	}
	right := Tried{Subject: Subject{Mutant: mutant.Mutant{Mode: mutant.Start, For: []mutant.Mutant{noDurations}}}}
	if right.unstarted(mutant.Begin{Exit: 7, Why: "w"}); right.Trials != 1 || len(right.Alarms) != 1 || right.Err != nil {
		t.Errorf("a right operator: got %+v", right)
	}
}
