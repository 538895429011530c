package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

// try runs a command line that must fail, and returns what a person sees.
func try(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	var out, text bytes.Buffer
	err := run(t.Context(), process{
		args: args, getenv: func(key string) string { return env[key] }, stdout: &out, stderr: &text,
		exit: func(code int) { t.Errorf("exit %d was called", code) },
	})
	if err == nil {
		t.Fatalf("%v: got no error", args)
	}
	explain(&text, err)
	return text.String()
}

func TestEveryProblemIsReportedAtOnceWithWhatToType(t *testing.T) {
	got := try(t, nil, "--leader-elect-lease-duration=12s", "--leader-elect-retry-period=500ms", "--leader-elect-resource-name=",
		"--identity=host", "--election=plain", "--on-loss=rejoin", "--bind-address=8080", "now")
	want := `error: argument "now" is not understood
hint: academy-operator --help
error: --identity=host is unknown
hint: --identity=pod or --identity=pod+uuid
error: --on-loss=rejoin belongs to --election=guarded: the course's recipe exits
hint: --on-loss=exit
error: name of the Lease is empty
hint: --leader-elect-resource-name=academy-operator
error: RetryPeriod 500ms is not a whole number of seconds: the Lease stores whole seconds, so standbys would count less than the leader
hint: --leader-elect-retry-period=1s
error: RetryPeriod 500ms is below 1s: renewals within one second look alike to a standby
hint: --leader-elect-retry-period=2s
error: --bind-address: address 8080: missing port in address
hint: --bind-address=127.0.0.1:8080
error: no kubeconfig is named, and this is not a pod with a service account
hint: --kubeconfig=FILE, or: export KUBECONFIG="$(labctl kubeconfig)"
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestOneMistakeEach(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		args  []string
		piece string
	}{
		{nil, []string{"--leader-elect-lease-duration=soon"}, "hint: academy-operator --help"},
		{nil, []string{"--no-such-flag"}, "error: flag provided but not defined"},
		{nil, []string{"--election=raft"}, "hint: --election=plain"},
		{nil, []string{"--on-loss=panic"}, "hint: --on-loss=exit"},
		{nil, []string{"--kubeconfig=/does/not/exist"}, "error: read kubeconfig: "},
		{map[string]string{"KUBECONFIG": "/does/not/exist"}, nil, "error: read kubeconfig: "},
		{nil, []string{api.ExitCommand}, "exec POD -- academy-operator exit-without-release"},
		{map[string]string{api.EnvPodUID: "none", "TMPDIR": "/does/not/exist"}, []string{api.ExitCommand}, "hint: see whether the operator runs"},
	} {
		if got := try(t, c.env, c.args...); !strings.Contains(got, c.piece) {
			t.Errorf("%v: got %q, want %q in it", c.args, got, c.piece)
		}
	}
}

func TestHelpNamesEachFlagAndIsNoError(t *testing.T) {
	var text bytes.Buffer
	if err := run(t.Context(), process{args: []string{"--help"}, getenv: func(string) string { return "" }, stderr: &text}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{api.FlagLeaseDuration, api.FlagRenewDeadline, api.FlagRetryPeriod, api.FlagLeaseName, api.FlagLeaseNamespace, api.FlagElection,
		api.FlagIdentity, api.FlagIdentityName, api.FlagGuardClient, api.FlagGuardDeadline, api.FlagGuardRelease, api.FlagGuardFence, api.FlagReleaseOnCancel, api.FlagOnLoss, api.FlagBindAddress, api.FlagKubeconfig, api.ExitCommand} {
		if !strings.Contains(text.String(), name) {
			t.Errorf("help does not name %s", name)
		}
	}
}

// kubeconfig writes one that leads to server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{"token":"t"}}]}`, server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestATakenPortIsAnErrorWithAFlagToType(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	got := try(t, nil, "--kubeconfig="+kubeconfig(t, "http://127.0.0.1:1"), "--bind-address="+taken.Addr().String())
	if !strings.Contains(got, "address already in use") || !strings.Contains(got, "hint: ") {
		t.Errorf("got %q, want the reason and a hint", got)
	}
}

// alarm is a writer that rings once when a message is logged.
type alarm struct {
	word string
	once sync.Once
	rang chan struct{}
}

func (a *alarm) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"msg":"`+a.word+`"`)) {
		a.once.Do(func() { close(a.rang) })
	}
	return len(p), nil
}

// A whole replica against an API server that refuses everything: it must say what to add, and end politely.
func TestAReplicaWithoutAnyVerbIsLoudAndStops(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, ofRBAC)
	}))
	defer server.Close()
	folder, err := os.MkdirTemp("", "x") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)

	ctx, cancel := context.WithCancel(t.Context())
	log, code := new(electiontest.Lines), make(chan int, 1)
	loud := &alarm{word: api.MessageForbidden, rang: make(chan struct{})}
	env := map[string]string{api.EnvPodName: "a", api.EnvPodUID: "u", "TMPDIR": folder, "KUBECONFIG": kubeconfig(t, server.URL)}
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, process{
			args: []string{"--bind-address=127.0.0.1:0"}, getenv: func(key string) string { return env[key] },
			stdout: io.MultiWriter(log, loud), stderr: log, exit: func(c int) { code <- c },
		})
	}()
	<-loud.rang
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != api.ExitStopped {
		t.Errorf("got exit code %d, want %d", c, api.ExitStopped)
	}
	for _, message := range []string{api.MessageStarted, api.MessageServing, api.MessageExiting} {
		if line := log.Last(message); line == nil || line[api.KeyIdentity] != "a" {
			t.Errorf("got %v for %q, want a line with the identity", line, message)
		}
	}
	if log.Count(api.MessageReconcile) != 0 {
		t.Error("it worked without holding the lease")
	}
}
