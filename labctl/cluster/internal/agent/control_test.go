package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// control serves the node's socket and returns a client for it.
func (l *lab) control() *http.Client {
	l.Helper()
	listener, err := l.node.listenControl()
	if err != nil {
		l.Fatal(err)
	}
	path := filepath.Join(l.state, "s", "node.sock")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		l.Errorf("socket %v, error %v, want mode 0600", info, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.node.serveControl(ctx, listener) }()
	l.Cleanup(func() {
		cancel()
		<-served
	})
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
}

func decode[T any](t *testing.T, response *http.Response, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body T
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// shortState is a folder whose sockets fit into a socket's path.
func shortState(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestControlSignals(t *testing.T) {
	l := newLabIn(t, shortState(t), 0)
	client := l.control()
	p := pod("subject", "polite")
	l.add(p)
	l.awaitReady("subject")
	l.awaitLog(p, 0, "running")
	get := func(path string) (*http.Response, error) { return client.Get("http://node" + path) }
	post := func(path string) (*http.Response, error) { return client.Post("http://node"+path, "", nil) }
	path := "/v1/pods/" + string(p.UID) + "/signal?signal="

	response, err := get("/v1/pods")
	pods := decode[[]podLine](t, response, err)
	if len(pods) != 1 || pods[0].Name != "subject" || !pods[0].Running || pods[0].PID == 0 || pods[0].Container != "main" {
		t.Errorf("pods = %+v", pods)
	}
	for path, want := range map[string]int{
		"/v1/pods/none/signal?signal=SIGKILL": http.StatusNotFound,
		path + "SIGHUP":                       http.StatusBadRequest,
		path:                                  http.StatusBadRequest,
		path + "SIGKILL&container=other":      http.StatusConflict,
		path + "SIGSTOP":                      http.StatusOK,
		path + "SIGCONT":                      http.StatusOK,
	} {
		response, err := post(path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("POST %s = %d, want %d", path, response.StatusCode, want)
		}
	}
	network := "/v1/pods/" + string(p.UID) + "/network?mode="
	for path, want := range map[string]int{
		"/v1/pods/none/network?mode=open":   http.StatusNotFound,
		network + "fog":                     http.StatusBadRequest,
		network + "blackhole":               http.StatusBadRequest, // for how long is not said
		network + "blackhole&lasts=2m":      http.StatusBadRequest,
		network + "blackhole&lasts=a while": http.StatusBadRequest,
		network + "refuse&lasts=10s":        http.StatusOK,
		network + "open":                    http.StatusOK,
	} {
		response, err := post(strings.ReplaceAll(path, " ", "%20"))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("POST %s = %d, want %d", path, response.StatusCode, want)
		}
	}
	type end struct {
		PID      int
		Exited   bool
		ExitCode int
		ExitedAt time.Time
	}
	response, err = post(path + "SIGKILL&wait=true")
	got := decode[end](t, response, err)
	if got.PID != pods[0].PID || !got.Exited || got.ExitCode != 137 || time.Since(got.ExitedAt) > time.Minute {
		t.Errorf("after SIGKILL: %+v", got)
	}
	response, err = post(path + "SIGKILL")
	if err != nil || response.StatusCode != http.StatusConflict {
		t.Errorf("signal to a container that has ended: %v, %v", response, err)
	}
}

func TestControlEvents(t *testing.T) {
	l := newLabIn(t, shortState(t), 0)
	client := l.control()
	response, err := client.Get("http://node/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	next := func() change {
		t.Helper()
		if !scanner.Scan() {
			t.Fatal(scanner.Err())
		}
		var c change
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := next(); c.Type != "hello" {
		t.Errorf("first line = %+v", c)
	}
	l.add(pod("subject", "exit", args("3")))
	if c := next(); c.Type != "started" || c.Name != "subject" || c.PID == 0 || *c.RestartCount != 0 || c.ExitCode != nil {
		t.Errorf("second line = %+v", c)
	}
	if c := next(); c.Type != "exited" || *c.ExitCode != 3 || c.Signal != "" {
		t.Errorf("third line = %+v", c)
	}
}

func TestSlowReaderIsDropped(t *testing.T) {
	h := newHub()
	slow, endSlow := h.subscribe()
	defer endSlow()
	for range hubBuffer + 1 {
		h.publish(change{Type: "started"})
	}
	quick, endQuick := h.subscribe()
	defer endQuick()
	h.publish(change{Type: "exited"})
	read := 0
	for range slow { // ends because it was dropped
		read++
	}
	if read != hubBuffer {
		t.Errorf("the slow reader got %d lines, want %d", read, hubBuffer)
	}
	if line := <-quick; !strings.Contains(string(line), "exited") {
		t.Errorf("the quick reader got %s", line)
	}
}
