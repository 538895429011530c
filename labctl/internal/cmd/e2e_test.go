package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// world is a user of the built programs with folders of their own.
type world struct {
	t   *testing.T
	bin string
	env []string
	dir string
}

// newWorld returns a user of bin/. The test is skipped with -short, and fails if the programs are not built.
func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the embedded cluster")
	}
	bin, err := filepath.Abs("../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"labctl", "academy-cluster", "academy-operator", "kubectl"} {
		if _, err := os.Stat(filepath.Join(bin, program)); err != nil {
			t.Fatalf("%v; run make build", err)
		}
	}
	dir := t.TempDir()
	w := &world{t: t, bin: bin, dir: dir}
	w.env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir+"/state", "XDG_DATA_HOME="+dir+"/data", "XDG_RUNTIME_DIR=", "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+dir+"/users-own",
		"KUBECACHEDIR="+dir+"/state/labctl/lab/kubectl") // as labctl env sets it
	if err := os.WriteFile(dir+"/users-own", []byte("the user's own kubeconfig\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.run(time.Minute, "labctl", "down") })
	return w
}

// result is what a program printed and its exit code.
type result struct {
	out, err string
	code     int
	took     time.Duration
}

func (w *world) run(limit time.Duration, program string, args ...string) result {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := w.command(ctx, program, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begun := time.Now()
	err := c.Run()
	r := result{out: out.String(), err: errs.String(), took: time.Since(begun)}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else if err != nil {
		w.t.Fatalf("%s %v: %v", program, args, err)
	}
	if ctx.Err() != nil {
		w.t.Fatalf("%s %v did not end within %s; stderr:\n%s", program, args, limit, r.err)
	}
	return r
}

func (w *world) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(w.bin, program), args...)
	c.Env = w.env
	return c
}

// must runs a program that has to succeed and returns its output.
func (w *world) must(program string, args ...string) string {
	w.t.Helper()
	r := w.run(3*time.Minute, program, args...)
	if r.code != 0 {
		w.t.Fatalf("%s %s: exit code %d\nstdout:\n%s\nstderr:\n%s", program, strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	return w.must("kubectl", append([]string{"--kubeconfig", strings.TrimSpace(w.must("labctl", "kubeconfig")), "-n", "academy-build"}, args...)...)
}

func (w *world) holder() string {
	w.t.Helper()
	return w.kubectl("get", "lease", "academy-operator", "-o", "jsonpath={.spec.holderIdentity}")
}

// TestE2E goes through a lab's life with the real programs: up, the course's lines, failovers, and down.
func TestE2E(t *testing.T) {
	w := newWorld(t)
	up := w.must("labctl", "up")
	if !strings.Contains(up, "2 of 2 replicas ready") || !strings.Contains(up, "is held by academy-operator-") {
		t.Fatalf("up printed:\n%s", up)
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *world)
	}{
		{"a second up returns at once and changes nothing", secondUp},
		{"the course's lines work as typed", courseLines},
		{"doctor finds nothing wrong", doctorPasses},
		{"the standby tries and does not work", steady},
		{"each mode gives its class within its band", failovers},
		{"kubectl, another process, sees the same", kubectlAgrees},
		{"another user of this host gets nothing", otherUser},
		{"nothing else is open", openPorts},
		{"secrets stay where they belong", secretsStay},
		{"with a new identity for each process a crash waits for expiry", newcomers},
		{"a missing right is named loudly", missingRight},
		{"labctl killed in the middle of a failover leaves a lab that works", killedLabctl},
		{"a killed cluster leaves no process and can be started again", killedCluster},
		{"a second lab beside it is another one", sideBySide},
		{"down leaves nothing", downLeavesNothing},
	} {
		if !t.Run(part.name, func(t *testing.T) { w.t = t; part.test(t, w) }) {
			break
		}
	}
	w.t = t
}

func secondUp(t *testing.T, w *world) {
	before := w.holder()
	r := w.run(time.Minute, "labctl", "up", "--json")
	if r.code != 0 || r.took > time.Second {
		t.Errorf("exit code %d after %s, want 0 within 1s: it only looks", r.code, r.took)
	}
	if after := w.holder(); after != before {
		t.Errorf("the holder changed from %s to %s", before, after)
	}
}

func courseLines(t *testing.T, w *world) {
	w.kubectl("scale", "deploy", "academy-operator", "--replicas=2")
	if out := w.kubectl("get", "lease", "academy-operator", "-o", "yaml"); !strings.Contains(out, "holderIdentity: academy-operator-") {
		t.Errorf("get lease -o yaml printed:\n%s", out)
	}
	out := w.kubectl("logs", "-l", "app=academy-operator", "--prefix", "--tail=5")
	for _, pod := range strings.Fields(w.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}")) {
		if n := strings.Count(out, "[pod/"+pod+"/operator]"); n < 1 || n > 5 {
			t.Errorf("logs -l --prefix --tail=5 printed %d lines of %s, want 1 to 5:\n%s", n, pod, out)
		}
	}
	if out := w.run(time.Minute, "kubectl", "--kubeconfig", strings.TrimSpace(w.must("labctl", "kubeconfig")), "auth", "can-i", "delete", "leases",
		"-n", "academy-build", "--as=system:serviceaccount:academy-build:academy-operator"); strings.TrimSpace(out.out) != "no" {
		t.Errorf("can-i delete leases: got %q, want no", out.out)
	}
	for _, how := range [][]string{{"--grace-period=0", "--force"}, nil} {
		before := w.holder()
		w.kubectl(append([]string{"delete", "pod", before}, how...)...)
		w.kubectl("rollout", "status", "deploy", "academy-operator", "--timeout=60s")
		w.must("labctl", "up")
		if after := w.holder(); after == before || after == "" {
			t.Errorf("delete pod %v: the holder went from %q to %q", how, before, after)
		}
	}
	w.kubectl("rollout", "restart", "deploy", "academy-operator")
	w.kubectl("rollout", "status", "deploy", "academy-operator", "--timeout=60s")
	env := w.must("labctl", "env")
	transitions, err := exec.Command("sh", "-c", env+"\nkubectl -n academy-build get lease academy-operator -o jsonpath='{.spec.leaseTransitions}'").Output()
	if err != nil || !regexp.MustCompile(`^\d+$`).Match(transitions) {
		t.Errorf("kubectl after eval env: %q, %v", transitions, err)
	}
}

func doctorPasses(t *testing.T, w *world) {
	w.must("labctl", "up") // after the rollout nobody may lead for a moment, which doctor would rightly call a failure
	if r := w.run(time.Minute, "labctl", "doctor"); r.code != ExitPass || strings.Contains(r.out, "fail") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
}

// steady looks at ten seconds of log at 5/3/1, in which a standby polls at least four times.
func steady(t *testing.T, w *world) {
	w.must("labctl", "failover", "--timing", "fast")
	holder := w.holder()
	var standby string
	for _, pod := range strings.Fields(w.kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.name}")) {
		if pod != holder {
			standby = pod
		}
	}
	<-time.After(10 * time.Second)
	log := w.kubectl("logs", standby, "--since=10s")
	if n := strings.Count(log, `"msg":"reconcile"`); n != 0 {
		t.Errorf("the standby logged %d reconciles, want none", n)
	}
	if n := strings.Count(log, `"msg":"attempting to acquire"`); n < 4 {
		t.Errorf("the standby logged %d attempts in 10 s at RetryPeriod 1s, want at least 4:\n%s", n, log)
	}
	if n := strings.Count(w.kubectl("logs", holder, "--since=10s"), `"msg":"reconcile"`); n < 50 {
		t.Errorf("the holder logged %d reconciles in 10 s, want about 100", n)
	}
}

func failovers(t *testing.T, w *world) {
	r := w.run(5*time.Minute, "labctl", "failover", "--mode", "graceful,force-delete,kill,crash", "--trials", "2", "--timing", "fast", "--json")
	var f report.Failover
	if err := json.Unmarshal([]byte(r.out), &f); err != nil {
		t.Fatalf("exit code %d, %v; stderr:\n%s", r.code, err, r.err)
	}
	if r.code != ExitPass || f.N != 8 {
		t.Errorf("exit code %d, %d trials, verdict %s: %+v", r.code, f.N, f.Verdict, f.Checks)
	}
	want := map[string]timeline.Class{"graceful": timeline.Released, "force-delete": timeline.Released, "kill": timeline.Expired, "crash": timeline.SameIdentity}
	for i, trial := range f.Trials {
		if trial.Class != want[trial.Mode] {
			t.Errorf("trial %d: %s is %s, want %s; the operator logged %v", i+1, trial.Mode, trial.Class, want[trial.Mode], trial.Errors)
		}
	}
	if n := strings.Count(w.kubectl("get", "pods", "--no-headers"), "Running"); n != 2 {
		t.Errorf("%d replicas run after the failovers, want 2", n)
	}
	checkRecord(t, f)
}

// newcomers sets the identity, sees what it changes, and sets it back as labctl says.
func newcomers(t *testing.T, w *world) {
	set := w.must("labctl", "operator", "set", "--identity", "pod+uuid")
	_, back, found := strings.Cut(set, "\nback: "+w.bin+"/labctl operator set ")
	if !found || !strings.HasPrefix(back, "--identity=pod\n") || !strings.Contains(set, "identity: pod → pod+uuid\n") {
		t.Fatalf("operator set printed:\n%s", set)
	}
	r := w.run(2*time.Minute, "labctl", "failover", "--mode", "crash", "--timing", "fast", "--json")
	var f report.Failover
	if err := json.Unmarshal([]byte(r.out), &f); err != nil {
		t.Fatalf("exit code %d, %v; stderr:\n%s", r.code, err, r.err)
	}
	if r.code != ExitPass || f.Identity != "pod+uuid" || f.Trials[0].Class != timeline.Expired {
		t.Errorf("exit code %d, identity %s, class %s; want 0, pod+uuid, expired: %+v", r.code, f.Identity, f.Trials[0].Class, f.Checks)
	}
	w.must("labctl", "operator", "set", "--identity=pod")
	var again struct{ Changed []string }
	if err := json.Unmarshal([]byte(w.must("labctl", "operator", "set", "--identity=pod", "--json")), &again); err != nil || again.Changed == nil || len(again.Changed) > 0 {
		t.Errorf("set to what it is: changed %v, %v; want none", again.Changed, err)
	}
}

// checkRecord derives the trials again from the recorded events: the record alone must give the same figures.
func checkRecord(t *testing.T, f report.Failover) {
	file, err := os.Open(filepath.Join(f.Run, "timeline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := timeline.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range f.Trials {
		got := timeline.Measure(events, i+1)
		if got.Class != want.Class || *got.GapSeconds != *want.GapSeconds || *got.LockGapSeconds != *want.LockGapSeconds {
			t.Errorf("trial %d from the record: %s, gap %v; reported: %s, gap %v", i+1, got.Class, *got.GapSeconds, want.Class, *want.GapSeconds)
		}
	}
}

func missingRight(t *testing.T, w *world) {
	const withoutUpdate = `[{"op":"replace","path":"/rules/0/verbs","value":["get","create"]}]`
	w.kubectl("patch", "role", "academy-operator", "--type=json", "-p", withoutUpdate)
	defer func() {
		w.kubectl("patch", "role", "academy-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/0/verbs","value":["get","create","update"]}]`)
		w.must("labctl", "up")
	}()
	if r := w.run(time.Minute, "labctl", "doctor"); r.code != ExitFail || !strings.Contains(r.out, "may not update leases") {
		t.Errorf("doctor: exit code %d:\n%s", r.code, r.out)
	}
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		log := w.kubectl("logs", "-l", "app=academy-operator", "--tail=50")
		for line := range strings.Lines(log) {
			if strings.Contains(line, `"msg":"forbidden"`) && strings.Contains(line, `"verb":"update"`) && strings.Contains(line, "leases") && strings.Contains(line, "Role academy-operator") {
				return
			}
		}
		<-time.After(200 * time.Millisecond)
	}
	t.Error("no replica logged the missing verb, the resource and the Role to change")
}
