package recorded

import "testing"

func TestCite_TrialsOfOneRunTogether(t *testing.T) {
	a, b := &Run{Name: "a"}, &Run{Name: "b"}
	for want, trials := range map[string][]Trial{
		"run a, trials 1 to 3; run a, trial 5; run b, trials 6 to 7": {{Run: a, Number: 1}, {Run: a, Number: 2}, {Run: a, Number: 3}, {Run: a, Number: 5}, {Run: b, Number: 6}, {Run: b, Number: 7}},
		"run a, trial 2": {{Run: a, Number: 2}},
		"":               nil,
	} {
		if got := Cite(trials); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
