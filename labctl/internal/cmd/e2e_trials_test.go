package cmd

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
)

// Pairs are measured inside labctl and in the pods of a Job; the same seed gives the same moments in both, a wrong claim is
// named, and nothing is left.
func TestE2ETrials(t *testing.T) {
	w := newWorld(t)
	if r := w.run(3*time.Minute, "labctl", "up"); r.code != 0 {
		t.Fatalf("labctl up: exit code %d\n%s", r.code, r.err)
	}
	measure := func(args ...string) (trialsResult, []float64) {
		r := w.run(2*time.Minute, "labctl", append([]string{"trials", "--pairs", "5", "--timing", "6/3/1", "--seed", "7", "--json"}, args...)...)
		var got trialsResult
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Trials) != 5 {
			t.Fatalf("%v: exit code %d, %v\n%s", args, r.code, err, r.err)
		}
		var phases []float64
		for _, trial := range got.Trials {
			phases = append(phases, trial.PhaseSeconds)
		}
		return got, phases
	}
	judged := func(r trialsResult, name string, v check.Verdict, reason string) bool {
		return slices.ContainsFunc(r.Checks, func(c check.Check) bool {
			return c.Name == name && c.Verdict == v && strings.Contains(c.Reason, reason)
		})
	}
	here, phases := measure()
	if !here.InProcess || !judged(here, check.GapInBand, check.Pass, "5 of 5") {
		t.Errorf("inside labctl: in process %t, checks %+v", here.InProcess, here.Checks)
	}
	pods, same := measure("--shards", "2", "--claim", "6/3/2")
	if pods.InProcess || pods.Shards != 2 || pods.Verdict != check.Fail || !judged(pods, check.Configuration, check.Fail, "RetryPeriod is not 2 s") {
		t.Errorf("in pods, with a wrong claim: in process %t, %s, checks %+v", pods.InProcess, pods.Verdict, pods.Checks)
	}
	if !slices.Equal(phases, same) {
		t.Errorf("the seed gave the phases %v inside labctl and %v in pods", phases, same)
	}
	config := strings.TrimSpace(w.run(time.Minute, "labctl", "kubeconfig").out)
	left := w.run(time.Minute, "kubectl", "--kubeconfig", config, "-n", "academy-build", "get", "jobs,leases,pods", "-o", "name")
	if n := strings.Count(left.out, "\n"); left.code != 0 || n != 3 || strings.Contains(left.out, "trial") {
		t.Errorf("got %d objects, want the Lease and two pods of the operator: %s%s", n, left.out, left.err)
	}
}
