package exercise

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

func TestBelief_saysInWhatTheLabDiffers(t *testing.T) {
	now := time.Now()
	lab := Snapshot{At: now, Pods: []timeline.Pod{{Name: "a", Restarts: 1}, {Name: "b"}}, WrittenAt: now.Add(-8 * time.Second), Leaders: 1, Answering: 2,
		OnLoss: "exit", Lease: &timeline.Lease{Holder: "stranger", RenewTime: now.AddDate(-26, 0, 0), Transitions: 3}}
	ahead, fresh, none, other := lab, lab, lab, lab
	ahead.Lease = &timeline.Lease{RenewTime: now.AddDate(74, 0, 0)}
	fresh.Lease = &timeline.Lease{Holder: "a", RenewTime: now.Add(-time.Second)}
	none.Lease, other.Program = nil, "/bin/academy-mutants"
	for name, c := range map[string]struct {
		state State
		lab   Snapshot
		want  string // empty: it does not differ
	}{
		"past":                {State{Belief: Belief{RenewTime: RenewedPast, Stands: 8}}, lab, ""},
		"not past":            {State{Belief: Belief{RenewTime: RenewedPast}}, fresh, "written by a, and not far in the past"},
		"future":              {State{Belief: Belief{RenewTime: RenewedFuture}}, ahead, ""},
		"not future":          {State{Belief: Belief{RenewTime: RenewedFuture}}, lab, "written by stranger, and not far in the future"},
		"written since":       {State{Belief: Belief{Stands: 9}}, lab, "written 8 s ago, and is to stand for 9 s"},
		"no Lease":            {State{Belief: Belief{Stands: 1}}, none, "there is no Lease"},
		"transitions":         {State{Belief: Belief{Transitions: 3}}, lab, ""},
		"too few":             {State{Belief: Belief{Transitions: 4}}, lab, "leaseTransitions is 3"},
		"restarted":           {State{Belief: Belief{Restarted: of(true)}}, lab, ""},
		"restarted after all": {State{Belief: Belief{Restarted: of(false)}}, lab, "restarted 1 times"},
		"leaders":             {State{Belief: Belief{Leaders: of(1), Answering: of(2)}}, lab, ""},
		"a leader":            {State{Belief: Belief{Leaders: of(0)}}, lab, "is_leader is 1 in sum"},
		"not answering":       {State{Belief: Belief{Answering: of(3)}}, lab, "2 replicas answer /convert"},
		"own":                 {State{Belief: Belief{Own: of(true)}}, lab, ""},
		"not its own":         {State{Belief: Belief{Own: of(true)}}, other, "runs /bin/academy-mutants"},
		"its own after all":   {State{Belief: Belief{Own: of(false)}}, lab, "runs the operator itself"},
		"on loss":             {State{OnLoss: "exit"}, lab, ""},
		"another on loss":     {State{OnLoss: "rejoin"}, lab, "does exit, asked for is rejoin"},
	} {
		got := c.state.differs(c.lab, "")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	lab.NoAnswer = "a does not answer"
	if (State{Belief: Belief{Leaders: of(1)}}).unseen(lab) == "" || (State{OnLoss: "exit"}).unseen(lab) != "" {
		t.Error("what could not be asked is unknown for those who ask it, and for nobody else")
	}
	if err := (State{Belief: Belief{RenewTime: "soon"}}).valid(); err == nil {
		t.Error("renewTime soon is taken")
	}
}
