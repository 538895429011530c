package agent

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/relay"
)

// What a worker is told; it does nothing but in answer to these and to the clock.
type (
	podSeen   struct{ pod *corev1.Pod }
	podGone   struct{} // the object is not there any more
	equipped  struct{ gear *gear }
	launchMsg struct {
		container *container
		image     string // that it was prepared for
		launch    *launch
		err       error
	}
	exited struct {
		container *container
		proc      *process.Process
	}
	probed struct {
		container *container
		proc      *process.Process
		result    probeResult
	}
	deleted struct{} // the API server has taken the final delete
)

// gear is what a pod has beside its containers: folders, token, relay.
type gear struct {
	relay *relay.Relay
}

// worker owns one pod, known by UID: all starts, stops, status and the final delete are its own, in one order.
type worker struct {
	node  *node
	uid   string
	inbox chan any
	done  chan struct{}
	shown atomic.Pointer[view]

	pod        *corev1.Pod
	startTime  time.Time
	ip         string
	dir        string
	temp       string
	gear       *gear
	containers []*container
	writer     *statusWriter
	status     corev1.PodStatus       // as last handed to the writer
	ephemeral  map[string]metav1.Time // when each ephemeral container was refused, by name

	known knowledge

	ctx       context.Context // ends with the pod, or with the agent
	cancel    context.CancelFunc
	life      context.Context // ends with the pod, or when its processes have ended with the agent
	endLife   context.CancelFunc
	terminal  bool // ended for good in an earlier life
	refused   bool // the node cannot have it: nothing of it starts
	overdue   bool // it was active longer than its deadline
	stopping  bool
	gone      bool // the object is gone: nothing is written any more
	finishing bool // the final status and delete are with the writer
	finished  bool // the API server has taken the final delete
	cleaned   bool
}

func newWorker(n *node, pod *corev1.Pod, listed bool) *worker {
	w := &worker{
		node: n, uid: string(pod.UID), pod: pod,
		inbox: make(chan any, 16), done: make(chan struct{}),
		startTime: time.Now(), ephemeral: map[string]metav1.Time{},
		dir:  filepath.Join(n.podsDir(), string(pod.UID)),
		temp: filepath.Join(n.tempDir(), tempName(string(pod.UID))),
	}
	earliest := w.startTime.Add(n.cfg.StartLatency)
	if pod.Status.StartTime != nil {
		w.startTime = pod.Status.StartTime.Time
		if listed {
			// It was bound in an earlier life of the agent.
			earliest = time.Now()
		}
	}
	w.terminal = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	for i := range pod.Spec.Containers {
		w.containers = append(w.containers, newContainer(n, pod, &pod.Spec.Containers[i], earliest))
	}
	w.shown.Store(&view{pod: pod})
	return w
}

// tempName keeps TMPDIR short: a socket's path holds 104 bytes on macOS.
func tempName(uid string) string { return uid[:min(8, len(uid))] }

// send hands over a message; it is dropped when the worker has ended.
func (w *worker) send(message any) {
	select {
	case w.inbox <- message:
	case <-w.done:
	}
}

func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	defer w.node.forget(w.uid)
	w.ctx, w.cancel = context.WithCancel(ctx)
	defer w.cancel()
	w.life, w.endLife = context.WithCancel(context.WithoutCancel(ctx))
	defer w.endLife()
	w.writer = newStatusWriter(w.node, w.pod, func() { w.send(deleted{}) })
	w.node.wg.Go(func() { w.writer.run(ctx) })
	w.begin()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			w.endWithAgent()
			return
		case message := <-w.inbox:
			w.handle(message)
		case <-timer.C:
		}
		w.step(time.Now())
		w.show()
		if w.gone && !w.alive() {
			w.clean()
			return
		}
		timer.Reset(w.untilNext(time.Now()))
	}
}

// begin takes the pod in: refuses it, restores it, or prepares its first start.
func (w *worker) begin() {
	if w.pod.DeletionTimestamp != nil {
		w.stop(0) // none of its processes can be alive
		return
	}
	if w.terminal {
		return
	}
	w.ip = w.node.ips.take(w.pod.Status.PodIP, declaredPorts(w.pod))
	found := examine(w.pod)
	if message := found.refusal(); message != "" {
		w.refuse(message)
		return
	}
	w.note(found.remark())
	w.refuseEphemeral(nil)
	w.node.wg.Go(func() { w.equip(w.ctx, w.pod) })
	for _, c := range w.containers {
		c.restore(w, time.Now())
	}
}

// refuse leaves the whole pod waiting, with a reason that says what cannot be had here.
func (w *worker) refuse(message string) {
	w.refused = true
	w.event(nil, corev1.EventTypeWarning, reasonUnsupported, message)
	for _, c := range w.containers {
		c.hold(reasonUnsupported, message)
	}
}

func (w *worker) handle(message any) {
	switch m := message.(type) {
	case podSeen:
		w.see(m.pod)
	case podGone:
		w.gone = true
		w.writer.stop()
		w.stop(w.node.timing.minGrace)
	case equipped:
		w.gear = m.gear
		for _, c := range w.containers {
			c.prepare(w)
		}
	case launchMsg:
		m.container.launched(w, m)
	case exited:
		m.container.exited(w, m.proc)
	case probed:
		m.container.probed(w, m)
	case deleted:
		w.finished = true
		w.clean()
	}
}

// see takes the pod's newest state; a second delete can only shorten the time that is left.
func (w *worker) see(pod *corev1.Pod) {
	before := w.pod
	w.pod = pod
	if pod.DeletionTimestamp == nil {
		w.revise(before)
		return
	}
	grace := time.Duration(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	w.stop(grace)
}

// stop ends all containers: SIGTERM now, SIGKILL after grace or what is left of an earlier one, whichever is sooner.
func (w *worker) stop(grace time.Duration) {
	grace = max(grace, w.node.timing.minGrace)
	w.stopping = true
	for _, c := range w.containers {
		c.stop(w, grace, "Stopping container "+c.spec.Name)
	}
}

// step does what is due: starts, kills, and the end of a pod that is stopping.
func (w *worker) step(now time.Time) {
	w.checkDeadline(now)
	for _, c := range w.containers {
		c.step(w, now)
	}
	if w.stopping && !w.gone && !w.finishing && !w.alive() {
		w.finishing = true
		w.writer.finish(w.finalStatus())
	}
}

// untilNext is the time to the next thing that is due.
func (w *worker) untilNext(now time.Time) time.Duration {
	next := now.Add(time.Hour)
	if deadline := w.deadline(); !deadline.IsZero() && deadline.Before(next) {
		next = deadline
	}
	for _, c := range w.containers {
		if due := c.due(w); !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return max(next.Sub(now), 0)
}

func (w *worker) alive() bool {
	for _, c := range w.containers {
		if c.proc != nil {
			return true
		}
	}
	return false
}

// endWithAgent ends the processes when the agent itself ends: the pod stays, as after a node's restart.
func (w *worker) endWithAgent() {
	w.signalAll(syscall.SIGTERM)
	deadline := time.After(w.node.timing.exitGrace)
	for _, c := range w.containers {
		if c.proc == nil {
			continue
		}
		select {
		case <-c.proc.Done():
		case <-deadline:
			w.signalAll(syscall.SIGKILL)
			<-c.proc.Done()
		}
	}
	if err := os.RemoveAll(w.temp); err != nil {
		w.node.log.Warn("temporary folder stays", "pod", w.uid, "error", err)
	}
}

func (w *worker) signalAll(sig syscall.Signal) {
	for _, c := range w.containers {
		if c.proc != nil {
			_ = c.proc.Signal(sig) // it may have ended meanwhile
		}
	}
}

// clean gives back all that the pod had, once.
func (w *worker) clean() {
	if w.cleaned {
		return
	}
	w.cleaned = true
	w.cancel()
	w.endLife()
	if w.gear != nil {
		w.gear.relay.Close()
	}
	w.node.ips.release(w.ip)
	for _, dir := range []string{w.dir, w.temp} {
		if err := os.RemoveAll(dir); err != nil {
			w.node.log.Warn("pod folder stays", "pod", w.uid, "error", err)
		}
	}
}

func declaredPorts(pod *corev1.Pod) []int {
	var ports []int
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
				ports = append(ports, int(port.ContainerPort))
			}
		}
	}
	return ports
}
