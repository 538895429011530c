package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestE2EGate runs the three scenarios of the operation gate on a real API server with real Jobs. It takes six minutes, so only
// make e2e does it.
func TestE2EGate(t *testing.T) {
	if os.Getenv("LAB_E2E") == "" {
		t.Skip("make e2e does it")
	}
	w := newWorld(t)
	w.must("labctl", "up", "--replicas", "1")
	flow := w.gate("--operations", "40")
	if flow.Flow == nil || flow.Flow.Operations != 40 || len(flow.Flow.Overlaps) != 0 || len(flow.Flow.Turns) == 0 {
		t.Errorf("got %+v", flow.Flow)
	}
	for _, scenario := range []string{scenarioGap, scenarioCrash} {
		r := w.gate("--scenario", scenario)
		if m := r.Measured; m == nil || m.SinceRefreshSeconds < 60 || m.OldJob == m.NewJob {
			t.Errorf("%s: got %+v", scenario, m)
		}
	}
	off := w.gate("--cluster-operation-gate=false", "--operations", "30", "--rest", "5s")
	if off.Flow == nil || len(off.Flow.Overlaps) == 0 {
		t.Errorf("without the gate nothing overlaps: %+v", off.Flow)
	}
	if out := w.kubectl("get", "lease", "-l", "captf.io/lease=cluster"); strings.Contains(out, "captf-cluster-") {
		t.Errorf("without the gate there is a cluster lease:\n%s", out)
	}
}

// gate is a run that must pass.
func (w *world) gate(args ...string) (r gateRunResult) {
	w.t.Helper()
	ran := w.run(5*time.Minute, "labctl", append([]string{"gate", "run", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(ran.out), &r); err != nil || ran.code != ExitPass {
		w.t.Errorf("%v: exit code %d, %v\n%s%s", args, ran.code, err, ran.out, ran.err)
	}
	return r
}

// TestExercisesLive_gate does the exercises about the gate; see TestExercisesLive.
func TestExercisesLive_gate(t *testing.T) {
	exercisesLive(t, []solved{{"20", solveOrder}, {"21", solveDeadName}, {"22", solveOutlive}})
}

// states runs gate check and returns the number of states that it tells, as an answer.
func (w *world) states(code int, args ...string) string {
	w.t.Helper()
	r := w.run(2*time.Minute, "labctl", append([]string{"gate", "check", "--json"}, args...)...)
	var found gateCheckResult
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != code {
		w.t.Fatalf("gate check %v: exit code %d, %v\n%s%s", args, r.code, err, r.out, r.err)
	}
	return fmt.Sprintf("states=%d", found.States)
}

func solveOrder(w *world) {
	w.answer("predict-between=b")
	w.answer(w.states(ExitPass), "swapped=b", "keeps=c", "preference=a", "stale=c", "sentence=of two writes one is the later one")
}

func solveDeadName(w *world) {
	w.answer("predict-blocked=c")
	for _, scenario := range []string{"gap", "crash"} {
		if r := w.run(4*time.Minute, "labctl", "gate", "run", "--scenario", scenario); r.code != ExitPass {
			w.t.Fatalf("gate run --scenario %s: exit code %d\n%s%s", scenario, r.code, r.out, r.err)
		}
	}
	w.answer("blocked=c", "why=a", "killed=c", "same=a", "sentence=a Job of the old inputs would be taken for one of the new")
}

func solveOutlive(w *world) {
	w.answer("predict-bet=d")
	w.answer(w.states(ExitFail, "--variant", "frozen"), "frozen=b", "limit=b", "backstop=a", "clock=b", "sentence=the heartbeat and the job lock")
}
