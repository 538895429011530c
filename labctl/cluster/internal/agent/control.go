package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/relay"
)

// waitLimit bounds how long a signal request waits for the process to end.
const waitLimit = 10 * time.Second

// view is a pod as others may see it; it is never changed once shown.
type view struct {
	pod        *corev1.Pod
	ip         string
	relay      *relay.Relay // nil until the pod has one
	containers []containerView
	ephemeral  map[string]metav1.Time // those that were refused
}

type containerView struct {
	name     string
	id       string
	restarts int32
	ran      bool
	waiting  string           // why it does not run
	between  bool             // it waits for its next run
	proc     *process.Process // nil if it does not run
	launch   *launch          // of the current run
	ctx      context.Context  // of the current run
	folder   string
}

func (w *worker) newView() *view {
	v := &view{pod: w.pod, ip: w.ip, ephemeral: maps.Clone(w.ephemeral)}
	if w.gear != nil {
		v.relay = w.gear.relay
	}
	for _, c := range w.containers {
		v.containers = append(v.containers, containerView{
			name: c.spec.Name, id: c.id, restarts: c.restarts, ran: c.ran, waiting: c.why(), between: c.ran && c.status().State.Waiting != nil,
			proc: c.proc, launch: c.current, ctx: c.ctx, folder: c.folder(w),
		})
	}
	return v
}

// listenControl opens the socket labctl talks to; only this user can.
func (n *node) listenControl() (net.Listener, error) {
	path := filepath.Join(n.cfg.SocketDir, "node.sock")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("listen for control: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for control: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = listener.Close() // the first error is the one to tell
		return nil, fmt.Errorf("listen for control: %w", err)
	}
	return listener, nil
}

func (n *node) serveControl(ctx context.Context, listener net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pods", n.servePods)
	mux.HandleFunc("POST /v1/pods/{uid}/signal", n.serveSignal)
	mux.HandleFunc("POST /v1/pods/{uid}/network", n.serveNetwork)
	mux.HandleFunc("GET /v1/events", n.serveEvents)
	server := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve tells how it ended
	return server.Serve(listener)
}

type podLine struct {
	UID          string `json:"uid"`
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	Container    string `json:"container"`
	PID          int    `json:"pid"`
	RestartCount int32  `json:"restartCount"`
	StartedAt    string `json:"startedAt,omitempty"`
	Running      bool   `json:"running"`
	Network      string `json:"network,omitempty"` // of the pod's way to the API server: open, blackhole, refuse or slow
}

func (n *node) servePods(w http.ResponseWriter, _ *http.Request) {
	lines := []podLine{}
	for _, uid := range n.uids() {
		worker := n.worker(uid)
		if worker == nil {
			continue
		}
		v := worker.shown.Load()
		for _, c := range v.containers {
			line := podLine{UID: uid, Namespace: v.pod.Namespace, Name: v.pod.Name, Container: c.name, RestartCount: c.restarts}
			if v.relay != nil {
				line.Network = string(v.relay.Mode())
			}
			if c.proc != nil {
				line.PID, line.Running = c.proc.PID(), true
				line.StartedAt = c.proc.Started().UTC().Format(time.RFC3339Nano)
			}
			lines = append(lines, line)
		}
	}
	reply(w, lines)
}

func (n *node) serveSignal(w http.ResponseWriter, r *http.Request) {
	allowed := map[string]syscall.Signal{
		"SIGKILL": unix.SIGKILL, "SIGTERM": unix.SIGTERM, "SIGSTOP": unix.SIGSTOP, "SIGCONT": unix.SIGCONT,
	}
	sig, known := allowed[r.URL.Query().Get("signal")]
	if !known {
		http.Error(w, "unknown signal: SIGKILL, SIGTERM, SIGSTOP and SIGCONT can be sent", http.StatusBadRequest)
		return
	}
	lasts, err := stopLasts(sig, r.URL.Query().Get("lasts"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	worker := n.worker(r.PathValue("uid"))
	if worker == nil {
		http.Error(w, "no such pod on this node", http.StatusNotFound)
		return
	}
	proc := worker.shown.Load().process(r.URL.Query().Get("container"))
	if proc == nil {
		http.Error(w, "the container is not running", http.StatusConflict)
		return
	}
	if err := proc.Signal(sig); errors.Is(err, process.ErrEnded) {
		http.Error(w, "the container is not running", http.StatusConflict)
		return
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if lasts > 0 {
		time.AfterFunc(lasts, func() { _ = proc.Signal(unix.SIGCONT) }) // it may have ended meanwhile
	}
	answer := map[string]any{"pid": proc.PID(), "exited": false}
	if r.URL.Query().Get("wait") == "true" {
		select {
		case <-proc.Done():
			exit := proc.Exit()
			answer["exited"], answer["exitCode"] = true, exit.Code
			answer["exitedAt"] = exit.At.UTC().Format(time.RFC3339Nano)
		case <-time.After(waitLimit):
		case <-r.Context().Done():
		}
	}
	reply(w, answer)
}

// stopLasts reads after how long a stopped process goes on by itself: it is for SIGSTOP alone, and at most as long as a cut.
func stopLasts(sig syscall.Signal, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	lasts, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, err
	case sig != unix.SIGSTOP:
		return 0, errors.New("lasts is for SIGSTOP")
	case lasts <= 0 || lasts > relay.LongestCut:
		return 0, fmt.Errorf("a stop lasts more than 0 and at most %s, not %s", relay.LongestCut, lasts)
	}
	return lasts, nil
}

// serveNetwork disturbs one pod's way to the API server: mode is open, blackhole, refuse or slow, lasts a duration after which
// that ends by itself, and latency how late answers arrive, for slow.
func (n *node) serveNetwork(w http.ResponseWriter, r *http.Request) {
	worker := n.worker(r.PathValue("uid"))
	if worker == nil {
		http.Error(w, "no such pod on this node", http.StatusNotFound)
		return
	}
	way := worker.shown.Load().relay
	if way == nil {
		http.Error(w, "the pod has no network yet", http.StatusConflict)
		return
	}
	mode := relay.Mode(r.URL.Query().Get("mode"))
	lasts, err := duration(r, "lasts")
	latency, wrong := duration(r, "latency")
	switch err = errors.Join(err, wrong); {
	case err != nil:
	case mode == relay.Slow:
		err = way.SetSlow(latency, lasts)
	default:
		err = way.Set(mode, lasts)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply(w, map[string]any{"mode": mode, "lastsSeconds": lasts.Seconds()})
}

// duration reads a parameter of a request; one that is not there is 0.
func duration(r *http.Request, name string) (time.Duration, error) {
	if text := r.URL.Query().Get(name); text != "" {
		return time.ParseDuration(text)
	}
	return 0, nil
}

// process is that of the named container, or of the first one.
func (v *view) process(name string) *process.Process {
	for _, c := range v.containers {
		if name == "" || c.name == name {
			return c.proc
		}
	}
	return nil
}

func (n *node) serveEvents(w http.ResponseWriter, r *http.Request) {
	lines, end := n.hub.subscribe()
	defer end()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	hello, err := json.Marshal(change{Type: "hello", Wall: time.Now().UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return // strings always marshal
	}
	line, more := append(hello, '\n'), true
	for more {
		if _, err := w.Write(line); err != nil || out.Flush() != nil {
			return // the reader is gone
		}
		select {
		case line, more = <-lines: // closed when this reader is too slow
		case <-r.Context().Done():
			return
		}
	}
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the reader may be gone
}
