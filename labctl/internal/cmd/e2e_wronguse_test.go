package cmd

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestE2EWrongUse holds that what can't be done is refused with exit code 3, an error and a hint, and changes nothing.
func TestE2EWrongUse(t *testing.T) {
	w := newWorld(t)
	w.must("labctl", "up")
	refused := func(name, part, hint string, args ...string) {
		t.Helper()
		before := w.kubectl("get", "deployment,lease,pods", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation} {.spec.holderIdentity}{\"\\n\"}{end}")
		r := w.run(time.Minute, "labctl", args...)
		if r.code != ExitCannotRun || !strings.Contains(r.err, part) || !regexp.MustCompile("hint: .*"+regexp.QuoteMeta(hint)).MatchString(r.err) || r.out != "" {
			t.Errorf("%s: exit code %d\n%s%s", name, r.code, r.out, r.err)
		}
		after := w.kubectl("get", "deployment,lease,pods", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.metadata.generation} {.spec.holderIdentity}{\"\\n\"}{end}")
		if before != after {
			t.Errorf("%s: changed\n%sto\n%s", name, before, after)
		}
	}
	refused("a freeze that outlasts a minute", "nothing is silenced for longer than 1m0s", "labctl failover --mode freeze --timing default", "failover", "--mode", "freeze", "--timing", "60/40/5")
	refused("the API server away from lanes", "takes the API server away from every lane", "labctl failover --mode api-down", "failover", "--mode", "api-down", "--lanes", "2")

	first := w.command(context.Background(), "labctl", "failover", "--mode", "freeze")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	lock := w.dir + "/state/labctl/lab/failover.lock"
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(50 * time.Millisecond) {
		if doing, _ := os.ReadFile(lock); strings.Contains(string(doing), "measuring failovers") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the first labctl does not begin")
		}
	}
	refused("two faults at once", "another labctl is measuring failovers of this lab", "labctl watch", "failover", "--mode", "kill")
	refused("mutants beside a fault", "another labctl is measuring failovers of this lab", "labctl watch", "mutants", "release-not-plumbed")
	first.Process.Kill()
	first.Wait()

	if r := w.run(time.Minute, "labctl", "failover", "--time-limit", "1s"); r.code != ExitTimeLimit || !strings.Contains(r.err, "the time limit of 1s was reached") {
		t.Errorf("a time limit: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.must("labctl", "scale", "1")
	for _, mode := range []string{"freeze", "cut-refuse", "cut-blackhole", "slow", "deny"} {
		refused(mode+" of the only replica", mode+" waits for a standby", "labctl scale 2", "failover", "--mode", mode)
	}
	w.must("labctl", "scale", "0")
	refused("nobody to take away", "the operator is scaled to 0", "labctl scale 2", "failover")
	refused("an image for local programs", "the embedded node runs local programs", "labctl mutants --operator-binary", "mutants", "--operator-image", "x")
}
