package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/streams"
)

// Reasons that are seen in a container's status and in events; those of a kubelet where it has one.
const (
	reasonCreating    = "ContainerCreating"
	reasonBackOff     = "CrashLoopBackOff"
	reasonNoImage     = "ErrImageNeverPull"
	reasonConfigError = "CreateContainerConfigError"
	reasonUnsupported = "Unsupported"
	reasonFailed      = "Failed"
	startErrorCode    = 128 // what container runtimes report for a program that cannot be run
)

// A kubelet takes as much of a log for the message of a container that has failed.
const (
	messageLines = 80
	messageBytes = 2 << 10
)

// container is one container of a pod; only the pod's worker touches it.
type container struct {
	spec    corev1.Container
	node    *node
	backoff process.Backoff

	// Waiting: message and reason, or restart at startAt. Running: proc. Ended: term.
	reason, message string
	held            bool // refused: it does not start
	changed         bool // it ends because its definition has changed
	startAt         time.Time
	launch          *launch // of the next run, when prepared
	current         *launch // of the current run
	preparing       bool

	proc    *process.Process
	cancel  context.CancelFunc // ends with proc: probes and sessions
	ctx     context.Context
	ending  bool      // SIGTERM was sent
	killAt  time.Time // when SIGKILL is due
	id      string
	log     *process.Log
	outputs [2]*process.LogStream

	restarts int32
	ran      bool // it has run at least once
	over     bool // it is not started again
	ready    bool
	started  bool
	term     *corev1.ContainerStateTerminated // how the last run ended
	last     *corev1.ContainerStateTerminated // how the run before the current one ended
}

func newContainer(n *node, pod *corev1.Pod, spec *corev1.Container, earliest time.Time) *container {
	c := &container{spec: *spec, node: n, backoff: n.timing.backoff, reason: reasonCreating, startAt: earliest}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == spec.Name {
			c.recall(status)
		}
	}
	return c
}

// recall takes over what an earlier life of the agent has recorded.
func (c *container) recall(status *corev1.ContainerStatus) {
	c.restarts, c.id = status.RestartCount, status.ContainerID
	c.last = status.LastTerminationState.Terminated
	switch {
	case status.State.Terminated != nil:
		c.term = status.State.Terminated
	case status.State.Running != nil:
		c.term = &corev1.ContainerStateTerminated{
			ExitCode: 128 + int32(syscall.SIGKILL), Reason: "Error", Message: "ended with the node's agent",
			StartedAt: status.State.Running.StartedAt, FinishedAt: metav1.Now(), ContainerID: status.ContainerID,
		}
	case c.last != nil:
		c.term = c.last
	}
	c.ran = c.term != nil
}

// restore decides what becomes of a container that ran in an earlier life.
func (c *container) restore(w *worker, now time.Time) {
	if !c.ran {
		return
	}
	if !c.restartsAfter(w, c.term.ExitCode) {
		c.over = true
		return
	}
	c.startAt = now
}

func (c *container) restartsAfter(w *worker, exitCode int32) bool {
	switch w.pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return exitCode != 0
	default:
		return true
	}
}

// lastWords is the end of the log of a run that failed, where the spec asks for that. The file that terminationMessagePath
// names is not read: it would be one of the machine's own.
func (c *container) lastWords(w *worker, code int) string {
	if code == 0 || c.spec.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return ""
	}
	return streams.Tail(c.logPath(w, c.restarts), messageLines, messageBytes)
}

// why is the reason to wait, with the message where that is what helps.
func (c *container) why() string {
	if c.message == "" || c.reason == reasonBackOff {
		return c.reason
	}
	return c.reason + ": " + c.message
}

func (c *container) hold(reason, message string) {
	c.held, c.reason, c.message = true, reason, message
}

// prepare works out the next start beside the worker, since it asks the API server.
func (c *container) prepare(w *worker) {
	if c.held || c.over || c.preparing || c.proc != nil || w.gear == nil || w.ending() {
		return
	}
	c.preparing, c.launch = true, nil
	pod, spec := w.pod, c.spec
	w.node.wg.Go(func() {
		launch, err := w.prepareLaunch(w.ctx, pod, &spec)
		w.send(launchMsg{c, spec.Image, launch, err})
	})
}

func (c *container) launched(w *worker, m launchMsg) {
	c.preparing = false
	if m.image != c.spec.Image {
		c.prepare(w)
		return
	}
	if m.err == nil {
		c.launch = m.launch
		return
	}
	reason, permanent := reasonOf(m.err)
	if c.message != m.err.Error() {
		w.event(c, corev1.EventTypeWarning, eventReason(reason), m.err.Error())
	}
	if permanent {
		c.hold(reason, m.err.Error())
		return
	}
	c.reason, c.message = reason, m.err.Error()
	c.startAt = time.Now().Add(w.node.timing.retryMax) // step prepares again then
}

// step starts the container when that is due and kills it when its time to stop is over.
func (c *container) step(w *worker, now time.Time) {
	if c.proc != nil {
		if !c.killAt.IsZero() && !now.Before(c.killAt) {
			_ = c.proc.Signal(syscall.SIGKILL) // it may have ended meanwhile
			c.killAt = time.Time{}
		}
		return
	}
	if c.held || c.over || w.ending() || now.Before(c.startAt) {
		return
	}
	if c.launch == nil {
		c.prepare(w)
		return
	}
	c.start(w, now)
}

// due is when step has something to do next; zero if only a message can change that.
func (c *container) due(w *worker) time.Time {
	if c.proc != nil {
		return c.killAt
	}
	if c.held || c.over || w.ending() || c.preparing || w.gear == nil {
		return time.Time{}
	}
	return c.startAt
}

func (c *container) start(w *worker, now time.Time) {
	if c.ran {
		c.restarts++
		c.backoff.Restarted(now)
	}
	c.last = c.term
	c.reason, c.message = "", ""
	c.ending, c.killAt, c.changed = false, time.Time{}, false
	c.ready, c.started = false, c.spec.StartupProbe == nil
	c.id = newContainerID()
	c.ran = true
	proc, err := c.spawn(w)
	c.current, c.launch = c.launch, nil
	if err != nil {
		w.event(c, corev1.EventTypeWarning, reasonFailed, "Error: "+err.Error())
		c.ended(w, process.Exit{Code: startErrorCode, At: now}, now, "StartError", err.Error())
		return
	}
	c.proc, c.term = proc, nil
	c.ctx, c.cancel = context.WithCancel(w.ctx)
	line := w.startOf(c, proc)
	w.node.hub.publish(line)
	w.node.wg.Go(func() {
		w.node.hub.publish(line.endedWith(proc.Exit()))
		w.send(exited{c, proc})
	})
	w.event(c, corev1.EventTypeNormal, "Started", "Container started")
	c.probe(w)
}

// spawn opens the log of this run, forgets those before the last, and runs the program.
func (c *container) spawn(w *worker) (*process.Process, error) {
	if err := os.MkdirAll(c.folder(w), 0o700); err != nil {
		return nil, fmt.Errorf("make container folder: %w", err)
	}
	log, err := process.OpenLog(c.logPath(w, c.restarts))
	if err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", ".old"} {
		_ = os.Remove(c.logPath(w, c.restarts-2) + suffix) // usually not there
	}
	c.log = log
	c.outputs = [2]*process.LogStream{log.Stream("stdout"), log.Stream("stderr")}
	spec := c.launch.spec
	spec.Stdout, spec.Stderr = c.outputs[0], c.outputs[1]
	proc, err := process.Start(spec)
	if err != nil {
		_ = log.Close() // the first error is the one to tell
		return nil, err
	}
	if err := proc.Record(c.folder(w)); err != nil {
		w.node.log.Warn("process is not recorded", "pod", w.uid, "error", err)
	}
	return proc, nil
}

// exited takes the end of a run and decides about the next.
func (c *container) exited(w *worker, proc *process.Process) {
	if c.proc != proc {
		return
	}
	for _, output := range c.outputs {
		output.Flush()
	}
	_ = c.log.Close() // nothing more is written
	c.cancel()
	c.proc = nil
	exit := proc.Exit()
	reason := "Completed"
	if exit.Code != 0 {
		reason = "Error"
	}
	c.ended(w, exit, proc.Started(), reason, c.lastWords(w, exit.Code))
}

func (c *container) ended(w *worker, exit process.Exit, started time.Time, reason, message string) {
	c.ready, c.started, c.killAt = false, false, time.Time{}
	c.term = &corev1.ContainerStateTerminated{
		ExitCode: int32(exit.Code), Reason: reason, Message: message, ContainerID: c.id,
		StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(exit.At),
	}
	if w.ending() || !c.changed && !c.restartsAfter(w, c.term.ExitCode) {
		c.over = true
		return
	}
	wait := c.backoff.Wait(exit.At)
	c.startAt = exit.At.Add(wait)
	if wait > c.backoff.Floor {
		c.reason = reasonBackOff
		c.message = fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			wait, c.spec.Name, w.pod.Name, w.pod.Namespace, w.uid)
		w.event(c, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+c.spec.Name+" in pod "+w.pod.Name)
	}
	c.prepare(w)
}

// stop sends SIGTERM, once, and lets SIGKILL follow after grace unless that is due sooner already.
func (c *container) stop(w *worker, grace time.Duration, message string) {
	if c.proc == nil {
		c.over = true
		return
	}
	killAt := time.Now().Add(grace)
	if !c.ending {
		c.ending, c.killAt = true, killAt
		_ = c.proc.Signal(syscall.SIGTERM) // it may have ended meanwhile
		w.event(c, corev1.EventTypeNormal, "Killing", message)
		return
	}
	if killAt.Before(c.killAt) {
		c.killAt = killAt
	}
}

func (c *container) folder(w *worker) string { return filepath.Join(w.dir, c.spec.Name) }

func (c *container) logPath(w *worker, restarts int32) string {
	return filepath.Join(c.folder(w), fmt.Sprintf("%d.log", restarts))
}

func newContainerID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return "process://" + hex.EncodeToString(id[:])
}
