package cmd

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestE2ECoordinated is the coordinated election on a real API server: it elects, an older version that comes later is preferred
// and led by, a mode without a model is refused, and the way back is the classic election.
func TestE2ECoordinated(t *testing.T) {
	w := newWorld(t)
	w.must("labctl", "up")
	w.must("labctl", "operator", "set", "--election", "coordinated", "--timing", "fast", "--binary-version", "1.10.0")
	if got := w.kubectl("get", "lease", "academy-operator", "-o", "jsonpath={.spec.strategy}"); got != "OldestEmulationVersion" {
		t.Fatalf("the strategy is %q", got)
	}
	before := transitions(w)
	for _, c := range []struct{ want, flag string }{{"no model of freeze", "freeze"}, {"no model of steal", "steal"}} {
		if r := w.run(time.Minute, "labctl", "failover", "--mode", c.flag); r.code != ExitCannotRun || !strings.Contains(r.err, c.want) || !strings.Contains(r.err, "hint:") {
			t.Errorf("%s: exit code %d\n%s", c.flag, r.code, r.err)
		}
	}

	w.kubectl("patch", "deployment", "academy-operator", "-p", `{"spec":{"minReadySeconds":12}}`) // so that the newer leader is there for a while
	watching := w.watchLease()
	w.must("labctl", "operator", "set", "--binary-version", "1.9.0") // a rollback: an older version appears later
	if seen := watching(); !strings.Contains(seen, "the API server prefers") {
		t.Errorf("no preferredHolder was seen in the rollback:\n%s", seen)
	}
	for deadline := time.Now().Add(time.Minute); w.version(w.holder()) != "1.9.0"; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("%s leads, of version %s", w.holder(), w.version(w.holder()))
		}
	}
	if after := transitions(w); after != before {
		t.Errorf("leaseTransitions went from %d to %d: somebody counts", before, after)
	}

	w.must("labctl", "operator", "set", "--election", "guarded")
	w.kubectl("rollout", "status", "deployment/academy-operator", "--timeout=60s")
	w.held()
	if got := w.kubectl("get", "lease", "academy-operator", "-o", "jsonpath={.spec.preferredHolder}"); got != "" {
		t.Errorf("preferredHolder is still %q", got)
	}
}

// version is what the LeaseCandidate of a holder says.
func (w *world) version(holder string) string {
	w.t.Helper()
	r := w.run(time.Minute, "labctl", "kubeconfig")
	kubeconfig := strings.TrimSpace(r.out)
	return w.run(time.Minute, "kubectl", "--kubeconfig", kubeconfig, "-n", "academy-build", "get", "leasecandidate", holder, "-o", "jsonpath={.spec.binaryVersion}").out
}

// watchLease notes what labctl watch tells until the returned function is called, which returns it.
func (w *world) watchLease() func() string {
	ctx, cancel := context.WithCancel(context.Background())
	c := w.command(ctx, "labctl", "watch", "--plain")
	var seen bytes.Buffer
	c.Stdout = &seen
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run() })
	time.Sleep(2 * time.Second)
	return func() string {
		cancel()
		running.Wait()
		return seen.String()
	}
}

func solveOldest(w *world) {
	w.answer("predict-newer=5", "counts=b", "slower=c", "wrong-one=a", "sentence=see the KEP")
	won := 0
	for _, t := range w.failover("--mode", "upgrade", "--election", "plain", "--trials", "10", "--lanes", "5", "--timing", "fast") {
		if t.Void == "" && t.Winner == "replacement" {
			won++
		}
	}
	w.answer("predict-gap=2", fmt.Sprintf("newer=%d", won))
	for _, t := range w.failover("--mode", "upgrade", "--election", "coordinated", "--trials", "10", "--lanes", "5", "--timing", "fast") {
		if t.Void == "" && t.LockGapSeconds != nil {
			w.answer(lockGap("elected-gap", t))
		}
	}
}
