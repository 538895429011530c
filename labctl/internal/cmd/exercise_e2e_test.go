package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// solved is one way through an exercise.
type solved struct {
	number string
	solve  func(*world)
}

// TestExercisesLive does the first nine exercises on the embedded cluster: each fails unsolved, and passes solved. It takes some
// minutes, so it is done only when LAB_E2E is set; make e2e does.
func TestExercisesLive(t *testing.T) {
	exercisesLive(t, []solved{
		{"01", solveWatch}, {"02", solveSource}, {"03", solveForced}, {"04", solveGraceful}, {"05", solveTyped},
		{"06", solveWinner}, {"07", solveCrash}, {"08", solveRBAC}, {"09", solveRelease},
	})
}

// exercisesLive does exercises one after the other in one lab, checks all of them again, and brings the lab back.
func exercisesLive(t *testing.T, all []solved) {
	t.Helper()
	if os.Getenv("LAB_E2E") == "" {
		t.Skip("takes minutes; make e2e")
	}
	w := newWorld(t)
	w.must("labctl", "up")
	for _, e := range all {
		t.Run(e.number, func(t *testing.T) {
			w.t = t
			w.must("labctl", "exercise", "start", e.number)
			if r := w.run(time.Minute, "labctl", "exercise", "check", e.number); r.code != ExitFail {
				t.Errorf("unsolved: got exit code %d, want %d\n%s%s", r.code, ExitFail, r.out, r.err)
			}
			var r result
			for tries := 0; tries < 3 && (tries == 0 || r.code == ExitUnknown); tries++ { // a void trial is done again
				e.solve(w)
				r = w.run(time.Minute, "labctl", "exercise", "check", e.number)
			}
			if r.code != ExitPass {
				t.Errorf("solved: got exit code %d, want %d\n%s%s", r.code, ExitPass, r.out, r.err)
			}
		})
	}
	w.t = t
	if r := w.run(time.Minute, "labctl", "exercise", "check", "--all"); r.code != ExitPass {
		t.Errorf("check --all: got exit code %d\n%s", r.code, r.out)
	}
	if r := w.run(time.Minute, "labctl", "reset", "--all"); r.code != ExitPass || r.took > 10*time.Second {
		t.Errorf("reset --all: exit code %d after %s\n%s%s", r.code, r.took, r.out, r.err)
	}
	if status := w.must("labctl", "status"); !strings.Contains(status, "leaseTransitions 0") {
		t.Errorf("after the reset:\n%s", status)
	}
}

func (w *world) answer(answers ...string) {
	w.t.Helper()
	w.must("labctl", append([]string{"exercise", "answer"}, answers...)...)
}

// failover times failovers and returns the trials of its run. That a trial is void is for the check to say.
func (w *world) failover(args ...string) []timeline.Trial {
	w.t.Helper()
	r := w.run(5*time.Minute, "labctl", append([]string{"failover", "--json"}, args...)...)
	var f report.Failover
	if err := json.Unmarshal([]byte(r.out), &f); err != nil {
		w.t.Fatalf("failover %v: %v\n%s", args, err, r.err)
	}
	return f.Trials
}

// lockGap writes an answer with the lock gap of a trial.
func lockGap(id string, t timeline.Trial) string { return seconds(id, t.LockGapSeconds) }

func seconds(id string, v *float64) string {
	if v == nil {
		return id + "=0.00"
	}
	return fmt.Sprintf("%s=%.2f", id, *v)
}

func solveWatch(w *world) {
	w.answer("predict-second=b", "ticks=c", "standby=b")
	w.must("labctl", "scale", "1")
	time.Sleep(time.Second)
	w.run(time.Minute, "labctl", "exercise", "check")
	w.must("labctl", "scale", "2")
	w.answer("holder=" + w.holder())
}

func solveSource(w *world) {
	w.answer("durations=b", "defaults=b", "clock=b", "released=c", "gives-up=a", "cite-renew=leaderelection.go:279", "cite-expiry=leaderelection.go:548-554", "in-words=its own clock")
}

func solveForced(w *world) {
	w.answer("predict-gap=15", "rise=1", "empty=b", "why=b")
	trials := w.failover("--force")
	w.answer(lockGap("lock-gap", trials[0]), seconds("user-gap", trials[0].GapSeconds))
}

func solveGraceful(w *world) {
	w.answer("predict-gap=2", "who=c", "rise=a", "compare=shorter")
	w.answer(lockGap("lock-gap", w.failover()[0]))
}

func solveTyped(w *world) {
	w.answer("predict-typed=a", "why=b")
	trials := w.failover("--mode", "force-delete,kill")
	w.answer(lockGap("typed-gap", trials[0]), lockGap("killed-gap", trials[1]))
}

func solveWinner(w *world) {
	w.answer("predict-wins=2", "race=b", "expired=c")
	won := 0
	for _, t := range w.failover("--mode", "graceful", "--trials", "4") {
		if t.Winner == timeline.Replacement {
			won++
		}
	}
	w.answer(fmt.Sprintf("wins=%d", won))
}

func solveCrash(w *world) {
	w.answer("predict-rise=1", "why=a", "alarm=b")
	w.answer(lockGap("pod-gap", w.failover("--mode", "crash", "--identity", "pod")[0]))
	w.answer(lockGap("uuid-gap", w.failover("--mode", "crash", "--identity", "pod+uuid")[0]))
	w.must("labctl", "operator", "set", "--identity", "pod")
}

func solveRBAC(w *world) {
	w.answer("predict-loss=b", "ready=a", "verbs=b")
	verbs := func(list string) {
		w.kubectl("patch", "role", "academy-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/0/verbs","value":[`+list+`]}]`)
	}
	verbs(`"get","create"`)
	w.until("pass broken", 90*time.Second)
	verbs(`"get","create","update"`)
	w.until("pass mended", 90*time.Second)
}

// until checks the exercise again and again until its output has a line of that kind.
func (w *world) until(line string, limit time.Duration) {
	w.t.Helper()
	words := strings.Fields(line)
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Second) {
		out := w.run(time.Minute, "labctl", "exercise", "check").out
		for _, l := range strings.Split(out, "\n") {
			if f := strings.Fields(l); len(f) > 1 && f[0] == words[0] && f[1] == words[1] {
				return
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("no %q within %s:\n%s", line, limit, out)
		}
	}
}

func solveRelease(w *world) {
	w.answer("predict-off=15", "price=b", "rollout=once")
	w.answer(lockGap("with-gap", w.failover("--mode", "graceful", "--release-on-cancel=true")[0]))
	w.answer(lockGap("without-gap", w.failover("--mode", "graceful", "--release-on-cancel=false")[0]))
	w.must("labctl", "operator", "set", "--release-on-cancel=true")
}
