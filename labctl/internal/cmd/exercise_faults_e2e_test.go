package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// secondHalf are the exercises about leaders that are two, and about losses that are no crash.
var secondHalf = []solved{{"10", solveClock}, {"11", solveContext}, {"12", solveExit}, {"13", solveSlow}, {"14", solveEarly}, {"15", solveBlackHole}, {"16", solveRejoin}, {"17", solveCount}, {"23", solveOldest}}

// faulty puts an operator with a fault in the place of the lab's own, as the exercises do.
func (w *world) faulty(name string) {
	w.t.Helper()
	program := filepath.Join(w.bin, api.MutantProgram)
	if _, err := os.Stat(program); err != nil {
		w.t.Fatalf("%v; run make build", err)
	}
	w.kubectl("patch", "deployment", "academy-operator", "--type=json", "-p", fmt.Sprintf(`[
	  {"op": "add", "path": "/spec/template/spec/containers/0/command", "value": [%q]},
	  {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--%s=%s"}]`, program, api.FlagMutant, name))
	w.kubectl("rollout", "status", "deployment", "academy-operator", "--timeout=60s")
}

// held waits until one of the lab's replicas is written in the Lease.
func (w *world) held() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Millisecond) {
		if strings.HasPrefix(w.holder(), api.DefaultName) {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("nobody took the Lease within a minute")
		}
	}
}

func (w *world) stranger(spec string) {
	w.t.Helper()
	w.kubectl("patch", "lease", "academy-operator", "--type=merge", "-p", `{"spec":{"holderIdentity":"stranger",`+spec+`}}`)
}

// reset brings the lab back, as the end of an exercise asks.
func (w *world) reset() {
	w.t.Helper()
	w.must("labctl", "reset")
}

func overlap(id string, t timeline.Trial) string { return seconds(id, t.OverlapSeconds) }

func solveClock(w *world) {
	w.answer("predict-past=b", "waited=b", "offset=c", "rate=b")
	for _, c := range []struct{ line, year string }{{"pass past", "2000"}, {"pass future", "2100"}} {
		w.held()
		w.stranger(`"leaseDurationSeconds":15,"renewTime":"` + c.year + `-01-01T00:00:00.000000Z"`)
		w.until(c.line, 14*time.Second)
	}
	w.until("pass led", 45*time.Second)
}

func solveContext(w *world) {
	w.answer("predict-two=c", "ended=c", "fence=b", "mend=c")
	w.failover("--mode", "steal", "--timing", "fast")
	w.faulty(api.MutantWorksOn)
	w.answer(overlap("together", w.failover("--mode", "steal")[0]))
	w.reset()
}

func solveExit(w *world) {
	w.answer("predict-when=c", "tidy=c", "seen=a", "exit=b")
	w.answer(overlap("beside", w.failover("--mode", "freeze", "--election", "plain", "--timing", "fast")[0]))
	w.must("labctl", "scale", "1")
	w.faulty(api.MutantOneShot)
	w.held()
	time.Sleep(2 * time.Second) // it leads, and has logged so
	w.stranger(`"leaseDurationSeconds":5`)
	w.until("pass idle", 45*time.Second)
	w.reset()
}

func solveSlow(w *world) {
	w.answer("predict-count=b", "first=b", "longer=a", "cure=b")
	w.must("labctl", "operator", "set", "--timing", "fast", "--on-loss", "rejoin")
	w.answer(lockGap("slow-gap", w.failover("--mode", "slow", "--trials", "2")[0]), fmt.Sprintf("counts=%d", transitions(w)))
	w.run(time.Minute, "labctl", "exercise", "check")
	w.reset()
}

func solveEarly(w *world) {
	w.answer("predict-two=3", "apart=c", "order=b", "stuck=c")
	w.failover("--mode", "evict")
	w.faulty(api.MutantReleaseFirst)
	early := w.failover("--mode", "evict")[0]
	w.answer(overlap("together", early), lockGap("early-gap", early))
	w.reset()
}

func solveBlackHole(w *world) {
	w.answer("predict-two=4", "hang=b", "refused=a", "cost=b")
	plain := w.failover("--mode", "cut-blackhole", "--election", "plain")[0]
	guarded := w.failover("--mode", "cut-blackhole", "--election", "guarded")[0]
	w.answer(overlap("together", plain), lockGap("plain-gap", plain), lockGap("guarded-gap", guarded))
}

func solveRejoin(w *world) {
	w.answer("predict-sum=b", "proof=a", "alarm=b", "when=b")
	w.answer(seconds("user-gap", w.failover("--mode", "steal", "--timing", "fast")[0].GapSeconds))
	w.run(time.Minute, "labctl", "exercise", "check")
	w.must("labctl", "operator", "set", "--on-loss", "rejoin")
	w.stranger(`"leaseDurationSeconds":15`)
	w.until("pass nobody", 14*time.Second)
	w.until("pass rejoined", 45*time.Second)
	w.reset()
}

func solveCount(w *world) {
	w.answer("predict-mean=6", "four=b", "tail=a", "never=c", "sentence=n = 10")
	var gaps []float64
	for _, t := range w.failover("--force", "--trials", "10", "--lanes", "5", "--timing", "fast") {
		if t.Void == "" && t.LockGapSeconds != nil {
			gaps = append(gaps, *t.LockGapSeconds)
		}
	}
	s := gap.Sum(gaps)
	w.answer(fmt.Sprintf("needed=%d", s.N+s.More(0.2)))
}

// TestMoreExercisesLive does the exercises from 10 on; see TestExercisesLive.
func TestMoreExercisesLive(t *testing.T) { exercisesLive(t, secondHalf) }
