package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// programs makes a folder with a shell script in place of each program.
func programs(t *testing.T, cluster string) Provider {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"academy-cluster": cluster, "academy-operator": "exit 0"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Provider{BinDir: dir}
}

func folders(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", "")
}

func TestUp_AClusterThatEndsWhileStartingShowsItsLastWords(t *testing.T) {
	folders(t)
	p := programs(t, "echo 'error: the port is bewitched' >&2; exit 1")
	_, err := p.Up(t.Context(), provider.Spec{Name: "lab"})
	var problem *provider.Problem
	if !errors.As(err, &problem) || problem.Hint == "" || !strings.Contains(err.Error(), "the port is bewitched") {
		t.Errorf("got %v, want the program's last words and a hint", err)
	}
	if found, err := p.Down(t.Context(), "lab", func(string) {}); err != nil || !found {
		t.Errorf("down afterwards: %v, found %t; there was something to remove", err, found)
	}
}

func TestUp_AClusterThatGivesWayToAnotherIsNotReportedAsBroken(t *testing.T) {
	folders(t)
	where, err := newPaths("lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Private(where.state); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(where.state, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ended := &process{done: make(chan struct{}), exit: errors.New("exit status 3")}
	close(ended.done)
	if err := other(where, ended); errors.Is(err, errOther) || err == nil {
		t.Errorf("nobody runs, and it ended: got %v, want its last words", err)
	}
	if err := other(where, nil); !errors.Is(err, errOther) {
		t.Errorf("the one that was found has ended: got %v, want errOther", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := other(where, ended); !errors.Is(err, errOther) {
		t.Errorf("another one runs: got %v, want errOther", err)
	}
	if err := other(where, nil); err != nil {
		t.Errorf("the one that was found runs: got %v", err)
	}
}

func TestUp_AnInterruptEndsWhatWasStarted(t *testing.T) {
	folders(t)
	mark := filepath.Join(t.TempDir(), "ended")
	p := programs(t, "trap 'echo > "+mark+"; exit 0' TERM; echo started > \"$5/cluster.log.started\"; while :; do sleep 0.05; done")
	where, err := newPaths("lab")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := p.Up(ctx, provider.Spec{Name: "lab"})
		done <- err
	}()
	for home.Absent(filepath.Join(where.state, "cluster.log.started")) && ctx.Err() == nil {
		select {
		case err := <-done:
			t.Fatalf("up ended by itself: %v", err)
		default:
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	if home.Absent(mark) {
		t.Error("the program that was started did not get SIGTERM")
	}
	if _, err := p.Down(t.Context(), "lab", func(string) {}); err != nil || !home.Absent(where.state) || !home.Absent(where.sockets) {
		t.Errorf("down afterwards: %v; something is left", err)
	}
}

func TestAvailable_AMissingProgramHasAHint(t *testing.T) {
	var problem *provider.Problem
	if err := (Provider{BinDir: t.TempDir()}).Available(t.Context()); !errors.As(err, &problem) || problem.Hint != "make build" {
		t.Errorf("got %v, want a problem with the hint make build", err)
	}
}

func TestFind_NoLab(t *testing.T) {
	folders(t)
	if _, err := (Provider{}).Find(t.Context(), "lab"); !errors.Is(err, provider.ErrNoLab) {
		t.Errorf("got %v, want ErrNoLab", err)
	}
}

// node serves handler where a cluster's record says its node listens.
func node(t *testing.T, handler http.HandlerFunc) provider.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "n") // short: a socket path holds 104 bytes on macOS
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "node.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	data, err := json.Marshal(record{Schema: "academy-cluster/v1", Name: "lab", PID: 7, Server: "https://127.0.0.1:1", Kubeconfig: "/k", NodeSocket: socket})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return provider.Cluster{Name: "lab", StateDir: dir}
}

func TestKill(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   error  // the error wraps it
		words  string // or has these words
	}{
		{200, `{"pid":7,"exited":true,"exitCode":137}`, nil, ""},
		{404, `no such pod`, provider.ErrNotRunning, "no such pod"},
		{409, `not running`, provider.ErrNotRunning, "not running"},
		{500, `a panic`, nil, "500 Internal Server Error: a panic"},
		{200, `{"pid":7,"exited":false}`, nil, "did not end"},
		{200, `nonsense`, nil, "read the node's answer"},
	} {
		cluster := node(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/v1/pods/uid-1/signal" || r.URL.Query().Get("signal") != "SIGKILL" || r.URL.Query().Get("wait") != "true" {
				t.Errorf("got %s %s", r.Method, r.URL)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		})
		exit, err := Provider{}.Kill(t.Context(), cluster, "uid-1")
		switch {
		case c.words == "" && c.want == nil:
			if err != nil || exit.PID != 7 || exit.ExitCode != 137 {
				t.Errorf("got %+v, %v", exit, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.words) || c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%d %s: got %v, want words %q of %v", c.status, c.body, err, c.words, c.want)
		}
	}
}

func TestWatchProcesses(t *testing.T) {
	cluster := node(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"type":"hello"}`)
		fmt.Fprintln(w, `{"type":"started","uid":"u","namespace":"n","name":"p","pid":7,"restartCount":2}`)
		fmt.Fprintln(w, `{"type":"a later invention"}`)
		fmt.Fprintln(w, `{"type":"exited","uid":"u","namespace":"n","name":"p","pid":7,"exitCode":137}`)
	})
	ready := 0
	var got []provider.ProcessEvent
	err := Provider{}.WatchProcesses(t.Context(), cluster, func() { ready++ }, func(e provider.ProcessEvent) { got = append(got, e) })
	if err == nil {
		t.Error("the stream broke off without an error")
	}
	want := []provider.ProcessEvent{{Started: true, UID: "u", Namespace: "n", Pod: "p", PID: 7, Restarts: 2}, {UID: "u", Namespace: "n", Pod: "p", PID: 7, ExitCode: 137}}
	if ready != 1 || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("ready %d times, got %+v, want %+v", ready, got, want)
	}
}
