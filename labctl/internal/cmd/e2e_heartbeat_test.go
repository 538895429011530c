package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/lease/heartbeat"
)

// TestE2EHeartbeat asks real Leases of a real API server, and goes through the readmission gate: open, the controller killed,
// jobs that wait, and a gate that closes once the renewal is older than two durations.
func TestE2EHeartbeat(t *testing.T) {
	w := newWorld(t)
	w.must("labctl", "up")
	w.code(ExitPass, "heartbeat: yes", "heartbeat")
	w.code(ExitFail, "Lease academy-build/nobody does not exist", "heartbeat", "academy-build/nobody")
	w.forbidden()

	w.code(ExitFail, "ClusterQueue dispatch does not exist", "readmission", "status")
	w.must("labctl", "readmission", "install")
	w.code(ExitFail, "is not Active", "readmission", "status")
	ctx, kill := context.WithCancel(t.Context())
	controller := w.command(ctx, "labctl", "readmission", "controller")
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	w.within(15*time.Second, ExitPass, "readmission", "status")
	if out := w.must("labctl", "readmission", "adapter", "--for", "8s"); !strings.Contains(out, "Ready: answered by") {
		t.Errorf("no job was answered:\n%s", out)
	}

	open := make(chan string, 1)
	go func() { open <- w.run(time.Minute, "labctl", "readmission", "adapter", "--for", "40s").out }()
	time.Sleep(lookEvery) // it has looked by then, or reads a renewal that is still young
	kill()                // SIGKILL: nobody releases
	_ = controller.Wait()
	w.code(ExitPass, "ReadmissionGate: yes", "readmission", "status") // a renewal of less than 30 s
	w.within(40*time.Second, ExitFail, "readmission", "status")
	r := w.code(ExitFail, "beyond 30s", "readmission", "status")
	if !strings.Contains(r.out, "yes      the check is Active") {
		t.Errorf("the check is not Active any more:\n%s", r.out)
	}
	w.code(ExitFail, "observe-only", "readmission", "adapter", "--for", "1s")
	if out := <-open; strings.Contains(out, "observe-only") || !strings.Contains(out, "open (looked at 3") {
		t.Errorf("the adapter that was opened before did not stay open:\n%s", out)
	}
	w.must("labctl", "readmission", "remove")
	w.code(ExitFail, "ClusterQueue dispatch does not exist", "readmission", "status")
}

// code runs labctl and wants an exit code and a part of the result.
func (w *world) code(want int, part string, args ...string) result {
	w.t.Helper()
	r := w.run(time.Minute, "labctl", args...)
	if r.code != want || !strings.Contains(r.out, part) {
		w.t.Errorf("labctl %s: got exit code %d, want %d with %q\n%s%s", strings.Join(args, " "), r.code, want, part, r.out, r.err)
	}
	return r
}

// within runs labctl again and again until it ends with that exit code.
func (w *world) within(limit time.Duration, want int, args ...string) {
	w.t.Helper()
	var r result
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Second) {
		if r = w.run(time.Minute, "labctl", args...); r.code == want {
			return
		}
	}
	w.t.Fatalf("labctl %s: exit code %d, and never %d\n%s%s", strings.Join(args, " "), r.code, want, r.out, r.err)
}

// forbidden reads the Lease as an account without rights: the API server answers 403, also for a Lease that is not there.
func (w *world) forbidden() {
	w.t.Helper()
	config, err := provider.ReadConfig(strings.TrimSpace(w.must("labctl", "kubeconfig")))
	if err != nil {
		w.t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:default:default"}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range []string{"academy-operator", "nobody"} {
		got := heartbeat.Check(w.t.Context(), client.CoordinationV1(), "academy-build", name)
		if got.Verdict != heartbeat.Unknown || !strings.HasPrefix(got.Reason, "may not get Lease academy-build/"+name+": ") {
			w.t.Errorf("%s, forbidden: got %s %q, want unknown", name, got.Verdict, got.Reason)
		}
	}
}

// TestExercisesLive_heartbeat does the exercises about the heartbeat; see TestExercisesLive.
func TestExercisesLive_heartbeat(t *testing.T) {
	exercisesLive(t, []solved{{"18", solveHeartbeat}, {"19", solveTooLate}})
}

// silence is how long the newest run was without a heartbeat, as an answer.
func (w *world) silence(id string) string {
	w.t.Helper()
	var run heartbeatRun
	if err := json.Unmarshal([]byte(w.must("labctl", "heartbeat", "--run", "latest", "--json")), &run); err != nil || len(run.Trials) != 1 {
		w.t.Fatalf("the newest run: %+v, %v; want one trial", run, err)
	}
	return fmt.Sprintf("%s=%.2f", id, run.Trials[0].NoHeartbeatSeconds)
}

func solveHeartbeat(w *world) {
	w.answer("predict-on=2", "predict-off=0", "rule=a", "setting=b", "price=short or seen")
	w.answer(lockGap("on-gap", w.failover("--mode", "rollout", "--release-on-cancel=true")[0]), w.silence("on-silent"))
	w.answer(lockGap("off-gap", w.failover("--mode", "rollout", "--release-on-cancel=false")[0]), w.silence("off-silent"))
	w.must("labctl", "operator", "set", "--release-on-cancel=true")
}

func solveTooLate(w *world) {
	w.answer("predict-start=b", "alone=1", "oldest=b", "reason=c", "terms=b")
	w.must("labctl", "scale", "1")
	w.failover("--mode", "graceful", "--release-on-cancel=false")
	w.answer(w.silence("silent"))
	w.must("labctl", "scale", "0")
	w.until("pass stale", time.Minute)
	w.must("labctl", "scale", "1")
	w.must("labctl", "operator", "set", "--release-on-cancel=true")
	w.must("labctl", "scale", "2")
}
