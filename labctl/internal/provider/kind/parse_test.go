package kind

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

func TestStep_KindsLinesInPlainWords(t *testing.T) {
	tests := map[string]string{
		" • Ensuring node image (kindest/node:v1.37.2) 🖼️  ...\n": "looking for the node image",
		" • Preparing nodes 📦 📦   ...\n":                          "starting two node containers",
		" • Starting control-plane 🕹️  ...\n":                     "starting the control plane",
		" • Waiting ≤ 1m0s for control-plane = Ready ⏳  ...\n":    "Waiting  1m0s for control-plane = Ready",
		" ✓ Preparing nodes 📦 📦 \n":                               "",
		" • Ready after 0s 💚\n":                                   "",
		"cgroup v1 is deprecated in Kubernetes":                   "",
	}
	for line, want := range tests {
		if got, begins := step(line); got != want || begins != (want != "") {
			t.Errorf("%q: got %q, %t; want %q", line, got, begins, want)
		}
	}
}

func TestSteps_TellTheStepAndKeepEveryWord(t *testing.T) {
	var said []string
	var file strings.Builder
	s := &steps{say: func(text string) { said = append(said, text) }, begun: time.Now(), file: &file}
	s.V(0).Info(" • Joining worker nodes 🚜  ...\n")
	s.V(3).Infof("kubeadm says %d", 7)
	s.V(4).Info("too much")
	s.Warn("mind the step")
	if len(said) != 1 || !strings.HasPrefix(said[0], "kind: joining the worker node (0.") {
		t.Errorf("said %q", said)
	}
	if kept := file.String(); !strings.Contains(kept, "kubeadm says 7") || !strings.Contains(kept, "mind the step") || strings.Contains(kept, "too much") {
		t.Errorf("kept %q", kept)
	}
}

// The lines are those of containerd 2.4 in a kind node.
func TestParseTask(t *testing.T) {
	start, ok := parseTask(`2026-11-30 09:17:38.126484398 +0000 UTC k8s.io /tasks/start {"container_id":"c2d7","pid":573}`)
	if !ok || start.topic != "/tasks/start" || start.body.Container != "c2d7" || start.body.PID != 573 || start.at.UnixNano() != 1796030258126484398 {
		t.Errorf("start: %+v, %t", start, ok)
	}
	exit, ok := parseTask(`2026-11-30 09:17:42.8 +0000 UTC k8s.io /tasks/exit {"container_id":"c2d7","id":"c2d7","pid":573,"exit_status":137,"exited_at":{"seconds":1796030262,"nanos":801851607}}`)
	if !ok || exit.body.Status != 137 || exit.body.Exited.Nanos != 801851607 {
		t.Errorf("exit: %+v, %t", exit, ok)
	}
	for _, line := range []string{"", "time=\"now\" level=warning msg=\"deprecated\"", "2026-11-30 09:17:42.8 +0000 UTC k8s.io /tasks/exit {"} {
		if e, ok := parseTask(line); ok {
			t.Errorf("%q was read as %+v", line, e)
		}
	}
}

const criLine = `{"containerId":"c2d7","podSandboxStatus":{"id":"164a","metadata":{"name":"p1","uid":"0b37","namespace":"default","attempt":0}},
"containersStatuses":[{"id":"c2d7","metadata":{"name":"c","attempt":2}}]}`

func TestProcessWatch_AProcessWaitsForItsPodsName(t *testing.T) {
	var got []provider.ProcessEvent
	w := &processWatch{on: func(e provider.ProcessEvent) { got = append(got, e) }, known: map[string]owned{}, waiting: map[string][]taskEvent{}}
	w.seen.Store(true)
	for _, line := range []string{
		`2026-11-30 09:17:38.0 +0000 UTC k8s.io /tasks/start {"container_id":"164a","pid":543}`, // the sandbox
		`2026-11-30 09:17:38.1 +0000 UTC k8s.io /tasks/start {"container_id":"c2d7","pid":573}`,
		`2026-11-30 09:17:39.1 +0000 UTC k8s.io /tasks/exit {"container_id":"c2d7","id":"an-exec","pid":600,"exit_status":1}`,
		`2026-11-30 09:17:42.8 +0000 UTC k8s.io /tasks/exit {"container_id":"c2d7","id":"c2d7","pid":573,"exit_status":137,"exited_at":{"seconds":1796030262,"nanos":5}}`,
	} {
		e, ok := parseTask(line)
		if !ok {
			t.Fatal(line)
		}
		if err := w.task(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 0 {
		t.Fatalf("told before the name is known: %+v", got)
	}
	var cri criEvent
	if err := json.Unmarshal([]byte(criLine), &cri); err != nil {
		t.Fatal(err)
	}
	w.learn(cri.owners())
	if len(got) != 2 || !got[0].Started || got[1].Started || got[1].ExitCode != 137 || got[1].At.Nanosecond() != 5 {
		t.Fatalf("got %+v", got)
	}
	for _, e := range got {
		if e.UID != "0b37" || e.Namespace != "default" || e.Pod != "p1" || e.Restarts != 2 || e.PID != 573 {
			t.Errorf("got %+v", e)
		}
	}
}

func TestProcesses_TheFirstOfTheOneContainer(t *testing.T) {
	found := parseProcesses("1146 yes academy-operator\n1190 no helper\n\nnonsense\n")
	if p, err := only(found); err != nil || p.pid != 1146 || len(found) != 2 {
		t.Errorf("got %+v, %v of %+v", p, err, found)
	}
	if _, err := only(parseProcesses("11 yes a\n12 yes b\n")); err == nil || !strings.Contains(err.Error(), "2 containers") {
		t.Errorf("two containers: got %v", err)
	}
}

func TestRecord_WhatIsNotWholeOrOfAnotherVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	whole := record{Schema: recordSchema, Name: "lab", Cluster: "labctl-lab", Server: "https://127.0.0.1:1", Kubeconfig: dir + "/kubeconfig", SharedClock: true}
	if err := whole.write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := readRecord(dir); err != nil || got != whole {
		t.Errorf("got %+v, %v", got, err)
	}
	if info, err := os.Stat(recordFile(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: want mode 600", info, err)
	}
	for _, text := range []string{"{", `{"schema":"labctl-kind/v9"}`, `{"schema":"labctl-kind/v1"}`} {
		if err := os.WriteFile(recordFile(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecord(dir); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

func TestFind_ALabThatIsNotThere(t *testing.T) {
	fakeDocker(t, "exit 1")
	p := &Provider{}
	if _, err := p.Find(t.Context(), "lab"); !errors.Is(err, provider.ErrNoLab) {
		t.Errorf("got %v, want ErrNoLab", err)
	}
	at, err := home.New("lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := at.Claim("embedded"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find(t.Context(), "lab"); !errors.Is(err, provider.ErrNoLab) {
		t.Errorf("another provider's lab: got %v, want ErrNoLab", err)
	}
	if err := errors.Join(at.Remove(), at.Claim(name)); err != nil {
		t.Fatal(err)
	}
	var problem *provider.Problem
	if _, err := p.Find(t.Context(), "lab"); errors.Is(err, provider.ErrNoLab) || !errors.As(err, &problem) {
		t.Errorf("half made: got %v, want a problem that is not ErrNoLab", err)
	}
}

func TestConfiguration(t *testing.T) {
	at := home.Home{State: filepath.Join(t.TempDir(), "lab")}
	one, two := configuration(at, info{cgroup: "1"}), configuration(at, info{cgroup: "2"})
	if len(one.KubeadmConfigPatches) != 1 || !strings.Contains(one.KubeadmConfigPatches[0], "failCgroupV1: false") || len(two.KubeadmConfigPatches) != 0 {
		t.Errorf("patches with cgroup v1: %q, v2: %q", one.KubeadmConfigPatches, two.KubeadmConfigPatches)
	}
	for _, want := range []string{`{name: feature-gates, value: "CoordinatedLeaderElection=true"}`, `{name: runtime-config, value: "coordination.k8s.io/v1beta1=true"}`} {
		if patch := two.Nodes[0].KubeadmConfigPatches[0]; !strings.Contains(patch, want) {
			t.Errorf("%s is missing in %s", want, patch)
		}
	}
	for _, n := range two.Nodes {
		if len(n.ExtraMounts) != 1 || n.ExtraMounts[0].HostPath != mounted(at.State) {
			t.Errorf("a node that a lab could not tell for its own: %+v", n)
		}
	}
}
