package cmd

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/gatelab"
)

// TestGate_Verdict holds that a pass is earned: all that was asked for was done, and seen in its order.
func TestGate_Verdict(t *testing.T) {
	turn, starved := gatelab.Turn{Job: "c1", Begun: 1}, gatelab.Turn{Job: "c2", Begun: 50}
	whole := func(change func(*gatelab.Judgement)) gatelab.Judgement {
		j := gatelab.Judgement{Requested: 40, Operations: 40, Done: 40, Turns: []gatelab.Turn{turn}}
		change(&j)
		return j
	}
	for _, c := range []struct {
		name    string
		flow    gatelab.Judgement
		ungated bool
		want    check.Verdict
		reason  string
		next    string
	}{
		{"all done", whole(func(*gatelab.Judgement) {}), false, check.Pass, "no overlap in 40 operations, 1 of them", "labctl gate status"},
		{"the limit", whole(func(j *gatelab.Judgement) { j.Done, j.Ended = 1, "the limit of 5s was reached" }), false, check.Unknown,
			"the limit of 5s was reached: 1 of 40 operations were done", "labctl gate run --operations 40 --limit 11m"},
		{"the limit, with an overlap", whole(func(j *gatelab.Judgement) {
			j.Done, j.Ended, j.Overlaps = 1, "the limit", []string{"c1 began while m1 ran"}
		}), false,
			check.Fail, "1 overlaps, the first: c1 began while m1 ran", "labctl gate status"},
		{"a turn that was overtaken", whole(func(j *gatelab.Judgement) { j.Turns = []gatelab.Turn{turn, starved} }), false, check.Fail, "50 Jobs of machines began while c2 waited: ", ""},
		{"a turn that never began", whole(func(j *gatelab.Judgement) { j.Open = []gatelab.Turn{starved} }), false, check.Fail, "50 Jobs of machines began while c2 waited, which never began", ""},
		{"a Job failed", whole(func(j *gatelab.Judgement) { j.Done = 39 }), false, check.Unknown, "39 of 40 operations were done; the other Jobs failed", "kubectl get jobs"},
		{"not seen", whole(func(j *gatelab.Judgement) { j.Unseen = "the order was not seen" }), false, check.Unknown, "the order was not seen", "labctl doctor"},
		{"watch lost", whole(func(j *gatelab.Judgement) { j.Done, j.Ended, j.Unseen = 3, "no watch", "why" }), false, check.Unknown, "no watch: 3 of 40 operations were done; why", "labctl doctor"},
		{"no turn", whole(func(j *gatelab.Judgement) { j.Turns = nil }), false, check.Unknown, "no operation of the cluster began", ""},
		{"off, and overlaps", whole(func(j *gatelab.Judgement) { j.Overlaps = []string{"c1 began while m1 ran"} }), true, check.Pass, "the gate was off: 1 overlaps", ""},
		{"off, and none", whole(func(*gatelab.Judgement) {}), true, check.Unknown, "nothing happened to overlap", "labctl gate run --operations 40 --limit 5s --rest 5s"},
		{"off, and the limit", whole(func(j *gatelab.Judgement) {
			j.Done, j.Ended, j.Overlaps = 3, "the limit", []string{"c1 began while m1 ran"}
		}), true, check.Unknown, "the limit: 3 of 40", ""},
	} {
		verdict, reason, next := judgeFlow(c.flow, !c.ungated)
		if verdict != c.want || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: got %s: %s, want %s: %s", c.name, verdict, reason, c.want, c.reason)
		}
		a := &app{args: []string{"gate", "run", "--operations", "40", "--limit", "5s"}}
		if first := a.gateNext(next, "n", gateRunFlags{operations: 40, every: time.Second, limit: 5 * time.Second})[0]; !strings.HasPrefix(first, c.next) {
			t.Errorf("%s: next is %q, want %q", c.name, first, c.next)
		}
	}
}
