package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func killedLabctl(t *testing.T, w *world) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		c := w.command(t.Context(), "labctl", "failover", "--force", "--timing", "fast")
		var errs bytes.Buffer
		c.Stderr = &errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(2500 * time.Millisecond)
		if err := c.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if signal == syscall.SIGINT && (c.ProcessState.ExitCode() != ExitInterrupted || !strings.Contains(errs.String(), "error: interrupted")) {
			t.Errorf("SIGINT: exit code %d, stderr:\n%s", c.ProcessState.ExitCode(), errs.String())
		}
		if out := w.must("labctl", "up"); !strings.Contains(out, "2 of 2 replicas ready") {
			t.Errorf("after %s up printed:\n%s", signal, out)
		}
	}
}

// pids returns the processes whose command line names the world's folder.
func (w *world) pids() []string {
	var found []string
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range lines {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		if bytes.Contains(data, []byte(w.dir)) || bytes.Contains(environment, []byte(w.dir+"/state/labctl/lab/pods")) {
			found = append(found, fmt.Sprintf("%s %s", filepath.Base(filepath.Dir(name)), bytes.ReplaceAll(data, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func killedCluster(t *testing.T, w *world) {
	if n := len(w.pids()); n < 7 {
		t.Fatalf("found %d processes of the lab, want a supervisor, four children and two replicas: %v", n, w.pids())
	}
	record := clusterIn(t, w.dir+"/state/labctl/lab")
	w.kubectl("patch", "lease", "academy-operator", "--type=merge", "-p", `{"spec":{"holderIdentity":"ghost","leaseDurationSeconds":3600}}`)
	if err := syscall.Kill(record.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(w.pids()) > 0; <-time.After(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("10 s after SIGKILL of the supervisor these run: %v", w.pids())
		}
	}
	if r := w.run(time.Minute, "labctl", "status"); r.code != ExitCannotRun || !strings.Contains(r.err, "hint:") {
		t.Errorf("status of a killed lab: exit code %d, stderr:\n%s", r.code, r.err)
	}
	up := w.run(time.Minute, "labctl", "up")
	if up.code != ExitPass || !strings.Contains(up.out, "2 of 2 replicas ready") || !strings.Contains(up.err, "the Lease names ghost, which is none of the pods") {
		t.Errorf("up after a kill: exit code %d\n%s%s", up.code, up.out, up.err)
	}
}

func sideBySide(t *testing.T, w *world) {
	holder := w.holder()
	w.must("labctl", "up", "--name", "other", "--replicas", "1")
	for name, replicas := range map[string]string{"other": "1 of 1", "lab": "2 of 2"} {
		if out := w.must("labctl", "status", "--name", name); !strings.Contains(out, replicas+" replicas ready") {
			t.Errorf("status of %s:\n%s", name, out)
		}
	}
	w.must("labctl", "down", "--name", "other")
	if after := w.holder(); after != holder {
		t.Errorf("the holder of lab went from %s to %s while the other came and went", holder, after)
	}
}

func downLeavesNothing(t *testing.T, w *world) {
	record := clusterIn(t, w.dir+"/state/labctl/lab")
	w.must("labctl", "down")
	if _, err := os.Stat(filepath.Dir(record.NodeSocket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sockets' folder %s is left: %v", filepath.Dir(record.NodeSocket), err)
	}
	if left := w.pids(); len(left) > 0 {
		t.Errorf("these run after down: %v", left)
	}
	for _, pattern := range []string{w.dir + "/state/*", w.dir + "/.kube", w.dir + "/.cache"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("these files are left after down: %v", left)
		}
	}
	if data, err := os.ReadFile(w.dir + "/users-own"); err != nil || string(data) != "the user's own kubeconfig\n" {
		t.Errorf("the user's kubeconfig: %q, %v", data, err)
	}
}
