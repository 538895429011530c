package embedded

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// appender writes a log as the API server does, and can rotate it.
type appender struct {
	t    *testing.T
	path string
}

func (a appender) write(text string) {
	a.t.Helper()
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = io.WriteString(f, text)
		f.Close()
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// collector gathers lines and tells when there are enough.
type collector struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

func (c *collector) on(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, string(line))
	c.more <- struct{}{}
	return nil
}

func (c *collector) wait(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-c.more:
		case <-time.After(10 * time.Second):
			t.Fatal("a line did not come within 10 s")
		}
	}
}

func TestFollow_GoesOnAfterARotationAndHandsOnWholeLinesOnly(t *testing.T) {
	log := appender{t, filepath.Join(t.TempDir(), "audit.jsonl")}
	log.write("before the watching\n")
	ctx, cancel := context.WithCancel(t.Context())
	c, ready, ended := &collector{more: make(chan struct{}, 100)}, make(chan struct{}), make(chan error, 1)
	go func() { ended <- follow(ctx, log.path, func() { close(ready) }, c.on) }()
	<-ready
	log.write("one\nhalf")
	c.wait(t, 1)
	log.write(" a line\n")
	c.wait(t, 1)
	log.write("last of the old file\n")
	if err := os.Rename(log.path, log.path+".1"); err != nil {
		t.Fatal(err)
	}
	log.write("first of the new\n")
	c.wait(t, 2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	want := []string{"one", "half a line", "last of the old file", "first of the new"}
	if !slices.Equal(c.lines, want) {
		t.Errorf("got %q, want %q", c.lines, want)
	}
}

// The line is one that kube-apiserver 1.37.2 wrote, with the parts that are not read left out.
const auditLine = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":"update",` +
	`"user":{"username":"system:serviceaccount:academy-build:academy-operator","extra":{"authentication.kubernetes.io/pod-name":["academy-operator-b46f6d498-p2vvx"],"authentication.kubernetes.io/pod-uid":["9cbe"]}},` +
	`"objectRef":{"resource":"leases","namespace":"academy-build","name":"academy-operator"},"responseStatus":{"metadata":{},"code":200},` +
	`"requestReceivedTimestamp":"2026-11-30T06:36:50.899657Z","stageTimestamp":"2026-11-30T06:36:50.901657Z"}`

func TestWatchRequests_ReadsWhatTheServerLogs(t *testing.T) {
	state := t.TempDir()
	log := appender{t, filepath.Join(state, "audit.jsonl")}
	log.write("")
	record := strings.ReplaceAll(`{"schema":"academy-cluster/v1","server":"https://127.0.0.1:1","kubeconfig":"/k","pid":2,"auditLog":"STATE/audit.jsonl"}`, "STATE", state)
	if err := os.WriteFile(filepath.Join(state, "cluster.json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var got provider.LeaseRequest
	Provider{}.WatchRequests(ctx, provider.Cluster{StateDir: state}, func() { log.write(auditLine + "\n") }, func(r provider.LeaseRequest) { got = r; cancel() })
	if got.Pod != "academy-operator-b46f6d498-p2vvx" || got.PodUID != "9cbe" || got.Verb != "update" || got.Code != 200 ||
		got.Namespace != "academy-build" || got.Lease != "academy-operator" || got.Answered.Sub(got.Received) != 2*time.Millisecond {
		t.Errorf("got %+v", got)
	}
}

func TestFollow_EndsWithTheReadersError(t *testing.T) {
	state := t.TempDir()
	log := appender{t, filepath.Join(state, "audit.jsonl")}
	log.write("")
	err := follow(t.Context(), log.path, func() { log.write("no JSON\n") }, func([]byte) error { return errors.New("not understood") })
	if err == nil || !strings.Contains(err.Error(), "not understood") {
		t.Errorf("got %v", err)
	}
}

func TestFollow_AFileThatIsCutShortIsAnError(t *testing.T) {
	log := appender{t, filepath.Join(t.TempDir(), "audit.jsonl")}
	log.write("one\n")
	err := follow(t.Context(), log.path, func() {
		if err := os.Truncate(log.path, 0); err != nil {
			t.Error(err)
		}
	}, func([]byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "was cut short") {
		t.Errorf("got %v", err)
	}
}

func TestFollow_WaitsForAFileThatIsNotThere(t *testing.T) {
	log := appender{t, filepath.Join(t.TempDir(), "audit.jsonl")}
	c := &collector{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, log.path, func() { log.write("first\n") }, c.on) }()
	c.wait(t, 1)
	cancel()
	<-ended
}
