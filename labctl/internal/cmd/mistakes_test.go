package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/report"
)

// refusal checks that a command did nothing, said why in one line, and what to type.
func refusal(t *testing.T, r result, words ...string) {
	t.Helper()
	if r.code != ExitCannotRun || !regexp.MustCompile(`(?m)^error: .+\nhint: .+\n\z`).MatchString(r.err) || strings.Contains(r.err, "goroutine ") {
		t.Errorf("exit code %d, stderr:\n%swant 3, an error and a hint", r.code, r.err)
	}
	for _, word := range words {
		if !strings.Contains(r.err, word) {
			t.Errorf("stderr does not say %q:\n%s", word, r.err)
		}
	}
}

// TestMistakes_Folders has the built programs meet folders that can't hold a lab, and programs that are not the kit's.
func TestMistakes_Folders(t *testing.T) {
	w := newWorld(t)
	own := w.env
	with := func(env ...string) result {
		w.env = append(own[:len(own):len(own)], env...)
		defer func() { w.env = own }()
		return w.run(time.Minute, "labctl", "up")
	}
	file := filepath.Join(w.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refusal(t, with("HOME=", "XDG_STATE_HOME="), "HOME", "export XDG_STATE_HOME=")
	refusal(t, with("XDG_STATE_HOME="+file), file, "export XDG_STATE_HOME=")
	refusal(t, with("XDG_STATE_HOME=here"), "not an absolute path")
	open := filepath.Join(w.dir, "open")
	if err := os.MkdirAll(open+"/labctl/lab", 0o755); err != nil {
		t.Fatal(err)
	}
	refusal(t, with("XDG_STATE_HOME="+open), "open to other users", "chmod 700 "+open)
	if os.Getuid() == 0 {
		theirs := filepath.Join(w.dir, "theirs")
		if err := os.MkdirAll(theirs+"/labctl/lab", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(theirs+"/labctl/lab", 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refusal(t, with("XDG_STATE_HOME="+theirs), "belongs to another user (uid 65534)")
	}
	t.Run("programs", func(t *testing.T) { foreignPrograms(t, w) })
}

// foreignPrograms starts labctl from a folder that lacks academy-cluster, or has something else of that name.
func foreignPrograms(t *testing.T, w *world) {
	kit := w.bin
	w.bin = t.TempDir()
	defer func() { w.bin = kit }()
	for _, program := range []string{"labctl", "academy-operator"} {
		if err := os.Link(filepath.Join(kit, program), filepath.Join(w.bin, program)); err != nil {
			data, err := os.ReadFile(filepath.Join(kit, program)) // another file system
			if err == nil {
				err = os.WriteFile(filepath.Join(w.bin, program), data, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	refusal(t, w.run(time.Minute, "labctl", "up"), "academy-cluster is not in", "hint: make build")
	for content, words := range map[string]string{
		"\x7fELF but not really":                          "exec format error",
		"#!/bin/sh\necho 'the port is bewitched'; exit 1": "the port is bewitched",
	} {
		if err := os.WriteFile(filepath.Join(w.bin, "academy-cluster"), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		r := w.run(time.Minute, "labctl", "up")
		if r.code != ExitCannotRun || !strings.Contains(r.err, words) || !strings.Contains(r.err, "\nhint: ") {
			t.Errorf("exit code %d, stderr:\n%swant 3 and %q", r.code, r.err, words)
		}
		if doctor := w.run(time.Minute, "labctl", "doctor"); doctor.code != ExitFail || !strings.Contains(doctor.out, "make build") {
			t.Errorf("doctor: exit code %d:\n%s", doctor.code, doctor.out)
		}
	}
	w.must("labctl", "down")
}

// TestMistakes_Live does to a lab what people do while a trial is under way, in a folder as awkward as they come. After each,
// the next failover works and is in its band. It takes four minutes, so only make e2e does it.
func TestMistakes_Live(t *testing.T) {
	if os.Getenv("LAB_E2E") == "" {
		t.Skip("make e2e does it")
	}
	w := newWorld(t)
	deep := filepath.Join(w.dir, "a folder with späces", strings.Repeat("deep/", 30))
	w.env = append(w.env, "XDG_STATE_HOME="+deep)
	lab := filepath.Join(deep, "labctl/lab")
	halfWritten(t, lab)
	twoAtOnce(t, w)
	w.must("labctl", "failover", "--timing", "fast")
	record := func() clusterRecord { return clusterIn(t, lab) }
	for _, mistake := range []struct {
		name string
		do   func()
	}{
		{"the API server is killed", func() { syscall.Kill(record().Children["apiserver"].PID, syscall.SIGKILL) }},
		{"the API server stands still for five seconds", func() {
			pid := record().Children["apiserver"].PID
			syscall.Kill(pid, syscall.SIGSTOP)
			time.AfterFunc(5*time.Second, func() { syscall.Kill(pid, syscall.SIGCONT) })
		}},
		{"the Lease is deleted", func() { w.kubectl("delete", "lease", "academy-operator") }},
		{"the Lease is given to nobody's pod", func() {
			w.kubectl("patch", "lease", "academy-operator", "--type=merge", "-p", `{"spec":{"holderIdentity":"somebody-else"}}`)
		}},
		{"the Lease is emptied", func() { w.kubectl("replace", "--force", "-f", leaseByHand(t, w)) }},
		{"the Deployment is scaled to 0", func() { w.kubectl("scale", "deploy", "academy-operator", "--replicas=0") }},
		{"the Deployment is rolled out", func() { w.kubectl("rollout", "restart", "deploy", "academy-operator") }},
		{"the Deployment is scaled to 1", func() { w.kubectl("scale", "deploy", "academy-operator", "--replicas=1") }},
	} {
		t.Run(mistake.name, func(t *testing.T) { w.t = t; w.disturb(mistake.do) })
	}
	w.t = t
}

// leaseByHand writes a Lease that says nothing but its name, as somebody may have made it before the operator came.
func leaseByHand(t *testing.T, w *world) string {
	file := filepath.Join(w.dir, "lease.yaml")
	text := "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: academy-operator, namespace: academy-build}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// halfWritten leaves what a lab may leave that was killed while it was made.
func halfWritten(t *testing.T, lab string) {
	if err := os.MkdirAll(lab, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"cluster.json": `{"schema":`, "lock": "not a number", "provider": ""} {
		if err := os.WriteFile(filepath.Join(lab, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func twoAtOnce(t *testing.T, w *world) {
	other := make(chan result)
	go func() { other <- w.run(time.Minute, "labctl", "up") }()
	for _, r := range []result{w.run(time.Minute, "labctl", "up"), <-other} {
		if r.code != ExitPass || !strings.Contains(r.out, "2 of 2 replicas ready") {
			t.Errorf("two at once: exit code %d:\n%s%s", r.code, r.out, r.err)
		}
	}
}

// disturb does something to a lab in the middle of a trial. What the trial says is its own business as long as it does not
// pass out of its band; the next one, after what labctl advises, must pass.
func (w *world) disturb(do func()) {
	w.t.Helper()
	disturbed := make(chan result)
	go func() {
		disturbed <- w.run(3*time.Minute, "labctl", "failover", "--force", "--timing", "fast", "--json")
	}()
	<-time.After(3 * time.Second) // settling takes two, the wait for the Lease's end four to eight
	do()
	r := <-disturbed
	w.t.Logf("disturbed: exit code %d after %.1f s\n%s", r.code, r.took.Seconds(), r.err)
	if r.code == ExitCannotRun && !strings.Contains(r.err, "\nhint: ") {
		w.t.Errorf("no hint:\n%s", r.err)
	}
	for range 3 {
		r = w.run(3*time.Minute, "labctl", "failover", "--timing", "fast", "--json")
		if r.code != ExitCannotRun {
			break
		}
		_, hint, _ := strings.Cut(r.err, "\nhint: ")
		w.t.Logf("advised: %s", r.err)
		args := strings.Fields(strings.TrimSpace(hint))
		if len(args) < 2 || filepath.Base(args[0]) != "labctl" || args[1] == "doctor" {
			break
		}
		w.must("labctl", args[1:]...)
	}
	var f report.Failover
	if err := json.Unmarshal([]byte(r.out), &f); err != nil || r.code != ExitPass {
		w.t.Errorf("the failover after it: exit code %d, %v\n%s%s", r.code, err, r.out, r.err)
	}
}
