package exercise

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func of[T any](v T) *T { return &v }

func TestState_saysInWhatTheLabDiffers(t *testing.T) {
	now := time.Now()
	lab := Snapshot{At: now, Replicas: 2, Ready: 2, Settled: true, Pods: []timeline.Pod{{Name: "a"}, {Name: "b"}}, Working: []string{"a"}, Timing: api.Default(),
		Identity: api.IdentityPod, ReleaseOnCancel: true, LeaseVerbs: map[string]bool{"get": true, "update": true}, Logged: []string{"reconcile"},
		Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: now.Add(-time.Second), Transitions: 3}}
	stale, empty := lab, lab
	stale.Lease = &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: now.Add(-time.Minute)}
	empty.Lease = nil
	for name, c := range map[string]struct {
		state  State
		lab    Snapshot
		answer string
		want   string // empty: it does not differ
	}{
		"replicas":            {State{Replicas: of(2), Led: of(true), Workers: of(1)}, lab, "", ""},
		"too many":            {State{Replicas: of(1)}, lab, "", "2 of 2 replicas are ready, 1 are asked for"},
		"workers":             {State{Workers: of(2)}, lab, "", "1 replicas log work"},
		"still led":           {State{Led: of(false)}, lab, "", "a still holds the Lease"},
		"stale":               {State{Led: of(false)}, stale, "", ""},
		"not led":             {State{Led: of(true)}, stale, "", "no replica holds a Lease"},
		"no Lease":            {State{Led: of(true)}, empty, "", "no replica holds a Lease"},
		"may":                 {State{May: []string{"get", "update"}}, lab, "", ""},
		"may not":             {State{May: []string{"create"}}, lab, "", "may not create Leases"},
		"may still":           {State{MayNot: []string{"update"}}, lab, "", "may update Leases"},
		"logged":              {State{Logged: "reconcile"}, lab, "", ""},
		"not logged":          {State{Logged: "forbidden"}, lab, "", `no replica has logged "forbidden"`},
		"settings":            {State{Timing: "15/10/2", Identity: "pod", ReleaseOnCancel: of(true)}, lab, "", ""},
		"timing":              {State{Timing: "5/3/1"}, lab, "", "the timing is 15/10/2"},
		"identity":            {State{Identity: "pod+uuid"}, lab, "", "the identity is pod"},
		"release":             {State{ReleaseOnCancel: of(false)}, lab, "", "ReleaseOnCancel is true"},
		"holder":              {State{Answer: AnswerHolder}, lab, "a", ""},
		"holder in quotes":    {State{Answer: AnswerHolder}, lab, `"a"`, ""},
		"another holder":      {State{Answer: AnswerHolder}, lab, "b", "the Lease says otherwise"},
		"transitions":         {State{Answer: AnswerTransitions}, lab, "3", ""},
		"other transitions":   {State{Answer: AnswerTransitions}, lab, "4", "the Lease says otherwise"},
		"an answer, no Lease": {State{Answer: AnswerHolder}, empty, "a", "there is no Lease"},
	} {
		got := c.state.differs(c.lab, c.answer)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	lab.NoVerbs = "you may not ask"
	if (State{May: []string{"get"}}).unseen(lab) == "" || (State{Replicas: of(2)}).unseen(lab) != "" {
		t.Error("what could not be asked is unknown for those who ask it, and for nobody else")
	}
}

func TestLoad_namesWhatIsWrong(t *testing.T) {
	good := Exercise{Name: "01-x", Data: Data{Title: "t", Seed: "s", Source: []string{"x"}, Misconception: "m", Minutes: 5}}
	for want, q := range map[string]Question{
		`there is no kind "odd"`:       {ID: "a", Kind: "odd", Ask: "?"},
		"needs an id of one word":      {ID: "a b", Kind: Text, Ask: "?"},
		"says what is to be run":       {ID: "a", Kind: Measured, Ask: "?"},
		`no mode "explode"`:            {ID: "a", Kind: Measured, Ask: "?", Run: &Want{Mode: "explode", Trials: 1}},
		"asks for no trial":            {ID: "a", Kind: Measured, Ask: "?", Run: &Want{Mode: "kill"}},
		`longerThan "b" is no`:         {ID: "a", Kind: Measured, Ask: "?", Run: &Want{Mode: "kill", Trials: 1, LongerThan: "b"}},
		`of "b" is no measured`:        {ID: "a", Kind: Reading, Ask: "?", Of: "b", Figure: "gap"},
		"is none of its options":       {ID: "a", Kind: Choice, Ask: "?", Options: map[string]string{"a": "1", "b": "2"}, Correct: "c"},
		"after a wrong answer":         {ID: "a", Kind: Choice, Ask: "?", Options: map[string]string{"a": "1", "b": "2"}, Correct: "b"},
		"has no function Elector.run":  {ID: "a", Kind: Citation, Ask: "?", Functions: []string{"Elector.run"}},
		"needs the functions":          {ID: "a", Kind: Citation, Ask: "?"},
		"what of the lab must be seen": {ID: "a", Kind: Observation, Ask: "?"},
		"live asks for nothing":        {ID: "a", Kind: Observation, Ask: "?", Live: &State{}},
		`answer "age" is neither`:      {ID: "a", Kind: Observation, Ask: "?", Live: &State{Answer: "age"}},
	} {
		e := good
		e.Questions = []Question{q}
		if err := e.valid(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	e := good
	e.Minutes, e.Title, e.Questions = 40, "", []Question{{ID: "a", Kind: Text, Ask: "?"}, {ID: "a", Kind: Text, Ask: "?"}}
	for _, want := range []string{"minutes 40", "has no title", `two questions have the id "a"`, "no question can be checked"} {
		if err := e.valid(); !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
