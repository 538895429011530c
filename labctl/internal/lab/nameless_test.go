package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
)

func TestNameless(t *testing.T) {
	t.Setenv("HOME", "/home/quillfeather")
	t.Setenv("XDG_STATE_HOME", "/srv/state of quillfeather")
	hide := nameless("/runs/quillfeather")
	for text, want := range map[string]string{
		"open /home/quillfeather/.local/state/labctl/lab/cluster.json: no such file": "open …/cluster.json: no such file",
		"dial unix /srv/state of quillfeather/labctl/lab/s/node.sock: refused":       "dial unix …/node.sock: refused",
		`{"error":"open \"/home/quillfeather/a/token\"","n":1}`:                      `{"error":"open \"…/token\"","n":1}`,
		"PATH=/home/quillfeather/bin:/home/quillfeather/go/bin:/usr/bin":             "PATH=…/bin:…/bin:/usr/bin",
		"/home/quillfeather":                               "…",
		"/home/quillfeather/operator/main.go:42 +0x1d":     "…/main.go:42 +0x1d",
		"stat /runs/quillfeather/20261130-failover/":       "stat …/20261130-failover/",
		`leases is forbidden: User "quill" cannot get`:     `leases is forbidden: User "someone" cannot get`,
		`{"text":"forbidden: User \"quill\" cannot get"}`:  `{"text":"forbidden: User \"someone\" cannot get"}`,
		`User "system:serviceaccount:a:b" cannot get`:      `User "system:serviceaccount:a:b" cannot get`,
		"Get https://127.0.0.1:1/apis/x/leases/y: refused": "Get https://127.0.0.1:1/apis/x/leases/y: refused",
		"/srv/home/quillfeathers":                          "/srv/home/quillfeathers",
		"the Lease is held":                                "the Lease is held",
	} {
		if got := hide(text); got != want {
			t.Errorf("of %q\n got %q\nwant %q", text, got, want)
		}
	}
}

// A made run has met all that can carry a name: an error of the node's socket, a replica's log with a path and with a
// refused user, and an error that ends the run.
func TestFolder_HoldsNoNameOfTheUserNorOfTheHost(t *testing.T) {
	const user = "quillfeather"
	home := filepath.Join(t.TempDir(), "home", user)
	t.Setenv("HOME", home)
	t.Setenv("USER", user)
	t.Setenv("XDG_DATA_HOME", "")
	runs, err := RunsDir()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{options: Options{RunsDir: runs, Trials: 1, Modes: nil}, cluster: provider.Cluster{Name: "lab", StateDir: filepath.Join(home, "state", "lab")}, start: noon}
	observer := observe.New(observe.Config{Start: noon, Hide: nameless(r.cluster.StateDir, runs)})
	r.lanes = []*lane{{observer: observer}}
	if err := r.open(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"open " + home + "/state/lab/pods/1/serviceaccount/token: permission denied",
		`forbidden: User "` + user + `" cannot get resource "leases"`,
	} {
		observer.Emit(timeline.Event{Kind: timeline.WatchHole, Note: text})
		observer.Emit(timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: "a", Level: "ERROR", Message: text, Raw: `{"msg":"x","error":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}`}})
	}
	r.options.Trials, r.options.Modes = 1, append(r.options.Modes, "kill")
	cut := r.result(errors.New("dial unix " + home + "/run/node.sock: connection refused"))
	if !strings.Contains(cut.Cut, "…/node.sock") {
		t.Errorf("the run was cut by %q, want the socket's name in it", cut.Cut)
	}
	if err := errors.Join(r.folder.finish(cut), r.folder.close()); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	holdsNone(t, r.folder.Path, user, home, filepath.Dir(runs), `"`+host+`"`, " "+host+" ")
	if text, err := os.ReadFile(filepath.Join(r.folder.Path, "timeline.jsonl")); err != nil || strings.Count(string(text), "…/token") != 3 {
		t.Errorf("%v; the recorded errors have lost what they say:\n%s", err, text)
	}
	if got := cut.Run; got != r.folder.Path {
		t.Errorf("on the screen the run is in %q, want %q", got, r.folder.Path)
	}
}

// holdsNone fails for each of the texts in a file of the folder, or in a file's name.
func holdsNone(t *testing.T, folder string, texts ...string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v; want a run's four", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if strings.Contains(f.Name()+"\n"+string(data), text) {
				t.Errorf("%s holds %q:\n%s", f.Name(), text, data)
			}
		}
	}
}
