package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/labctl/cluster/internal/process"
)

// event tells the user about the pod, or about its container c.
func (w *worker) event(c *container, kind, reason, message string) {
	if w.gone {
		return // an event of a pod that is gone would only puzzle
	}
	ref := &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: w.pod.Namespace, Name: w.pod.Name,
		UID: types.UID(w.uid), ResourceVersion: w.pod.ResourceVersion,
	}
	if c != nil {
		ref.FieldPath = fmt.Sprintf("spec.containers{%s}", c.spec.Name)
	}
	w.node.recorder.Event(ref, kind, reason, message)
}

// refusal is an error that trying again does not mend.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

// reasonOf is the waiting reason for a container that could not be prepared, and whether it stays that way.
func reasonOf(err error) (reason string, permanent bool) {
	var r *refusal
	if errors.As(err, &r) {
		return r.reason, true
	}
	return reasonConfigError, false
}

// eventReason follows the kubelet, whose events say Failed where the container's state is more precise.
func eventReason(waiting string) string {
	if waiting == reasonUnsupported || waiting == reasonNoImage {
		return waiting
	}
	return reasonFailed
}

// change is one line of the control socket's event stream.
type change struct {
	Type         string `json:"type"` // hello, started, exited
	UID          string `json:"uid,omitempty"`
	Namespace    string `json:"namespace,omitempty"`
	Name         string `json:"name,omitempty"`
	Container    string `json:"container,omitempty"`
	PID          int    `json:"pid,omitempty"`
	RestartCount *int32 `json:"restartCount,omitempty"`
	ExitCode     *int   `json:"exitCode,omitempty"`
	Signal       string `json:"signal,omitempty"`
	Wall         string `json:"wall"` // RFC 3339 with nanoseconds
}

func (w *worker) startOf(c *container, proc *process.Process) change {
	restarts := c.restarts
	return change{
		Type: "started", UID: w.uid, Namespace: w.pod.Namespace, Name: w.pod.Name, Container: c.spec.Name,
		PID: proc.PID(), RestartCount: &restarts, Wall: proc.Started().UTC().Format(time.RFC3339Nano),
	}
}

// endedWith makes the line for the end of what c tells the start of.
func (c change) endedWith(exit process.Exit) change {
	c.Type, c.ExitCode, c.Wall = "exited", &exit.Code, exit.At.UTC().Format(time.RFC3339Nano)
	if exit.Signal != 0 {
		c.Signal = unix.SignalName(exit.Signal)
	}
	return c
}

// hubBuffer is how far a reader may fall behind before it is dropped.
const hubBuffer = 256

// hub passes changes to all who listen; none of them can hold it up.
type hub struct {
	mu      sync.Mutex
	readers map[chan []byte]struct{}
}

func newHub() *hub { return &hub{readers: map[chan []byte]struct{}{}} }

func (h *hub) publish(c change) {
	line, err := json.Marshal(c)
	if err != nil {
		return // strings and numbers always marshal
	}
	line = append(line, '\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	for reader := range h.readers {
		select {
		case reader <- line:
		default:
			h.drop(reader)
		}
	}
}

// subscribe returns the lines from now on, a channel that is closed when the reader is too slow, and the end of it.
func (h *hub) subscribe() (<-chan []byte, func()) {
	reader := make(chan []byte, hubBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers[reader] = struct{}{}
	return reader, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.drop(reader)
	}
}

func (h *hub) drop(reader chan []byte) {
	if _, there := h.readers[reader]; there {
		delete(h.readers, reader)
		close(reader)
	}
}
