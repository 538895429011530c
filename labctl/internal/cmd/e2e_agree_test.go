package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"academy.example/lab/labctl/internal/timeline"
)

// sighting is what a watcher says of one write of the Lease.
type sighting struct {
	version, holder string
	transitions     int
}

// kubectlAgrees times a failover while kubectl, another process, watches the same Lease.
func kubectlAgrees(t *testing.T, w *world) {
	ctx, stop := context.WithCancel(context.Background())
	kubectl := w.command(ctx, "kubectl", "--kubeconfig", strings.TrimSpace(w.must("labctl", "kubeconfig")), "-n", "academy-build",
		"get", "lease", "academy-operator", "-w", "--output-watch-events", "-o", "json")
	out, err := os.Create(filepath.Join(w.dir, "kubectl-saw"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	kubectl.Stdout = out
	if err := kubectl.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if info, err := out.Stat(); err != nil || info.Size() > 0 {
			break // it watches
		}
		if time.Now().After(deadline) {
			t.Fatal("kubectl showed nothing within 30 s")
		}
	}
	run := w.run(2*time.Minute, "labctl", "failover", "--mode", "graceful,kill", "--timing", "fast", "--json")
	stop()
	_ = kubectl.Wait() // it was ended
	if run.code != 0 {
		t.Fatalf("failover: exit code %d:\n%s\n%s", run.code, run.out, run.err)
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	theirs, ours := kubectlSaw(t, out), labctlSaw(t, filepath.Join(w.dir, "data/labctl/runs/latest/timeline.jsonl"))
	first := slices.IndexFunc(theirs, func(s sighting) bool { return s.version == ours[0].version })
	if first < 0 {
		t.Fatalf("kubectl did not see version %s, which labctl saw first; it saw %v", ours[0].version, theirs)
	}
	theirs = theirs[first:]
	n := min(len(theirs), len(ours)) // either may have ended a renewal earlier
	if n < 12 || !slices.Equal(theirs[:n], ours[:n]) {
		t.Errorf("of %d writes that both saw:\nkubectl %v\nlabctl  %v", n, theirs[:n], ours[:n])
	}
	var r struct {
		Trials []timeline.Trial `json:"trials"`
	}
	if err := json.Unmarshal([]byte(run.out), &r); err != nil {
		t.Fatal(err)
	}
	for _, trial := range r.Trials {
		after := slices.IndexFunc(theirs, func(s sighting) bool { return s.holder == *trial.HolderAfter })
		if after < 1 || theirs[after].transitions != *trial.TransitionsAfter {
			t.Errorf("%s: kubectl does not show %s taking over with transition %d", trial.Mode, *trial.HolderAfter, *trial.TransitionsAfter)
			continue
		}
		if released := theirs[after-1].holder == ""; released != (trial.Class == timeline.Released) {
			t.Errorf("%s: class %s, and kubectl saw a release: %t", trial.Mode, trial.Class, released)
		}
	}
}

func kubectlSaw(t *testing.T, out io.Reader) (saw []sighting) {
	t.Helper()
	for in := json.NewDecoder(out); ; {
		var e struct {
			Object coordinationv1.Lease `json:"object"`
		}
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return saw
		}
		if err != nil {
			t.Fatal(err)
		}
		s := sighting{version: e.Object.ResourceVersion}
		if e.Object.Spec.HolderIdentity != nil {
			s.holder = *e.Object.Spec.HolderIdentity
		}
		if e.Object.Spec.LeaseTransitions != nil {
			s.transitions = int(*e.Object.Spec.LeaseTransitions)
		}
		saw = append(saw, s)
	}
}

func labctlSaw(t *testing.T, path string) (saw []sighting) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := timeline.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == timeline.LeaseSeen {
			saw = append(saw, sighting{e.Lease.ResourceVersion, e.Lease.Holder, e.Lease.Transitions})
		}
	}
	return saw
}
