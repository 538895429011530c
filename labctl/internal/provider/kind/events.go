package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// taskEvent is a line of `ctr events`: what happened to a container's process.
type taskEvent struct {
	at    time.Time
	topic string
	body  struct {
		Container string `json:"container_id"`
		ID        string `json:"id"`
		PID       int    `json:"pid"`
		Status    int    `json:"exit_status"`
		Exited    struct {
			Seconds int64 `json:"seconds"`
			Nanos   int64 `json:"nanos"`
		} `json:"exited_at"`
		Labels map[string]string `json:"labels"`
	}
}

// parseTask reads `2026-11-30 09:17:38.126484398 +0000 UTC k8s.io /tasks/start {"container_id":"c2d7","pid":573}`.
func parseTask(line string) (e taskEvent, ok bool) {
	words := strings.SplitN(line, " ", 7)
	if len(words) != 7 {
		return e, false
	}
	at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.Join(words[:3], " "))
	if err != nil {
		return e, false
	}
	e.at, e.topic = at, words[5]
	return e, json.Unmarshal([]byte(words[6]), &e.body) == nil
}

// owned is the pod that a container belongs to.
type owned struct {
	uid, namespace, pod string
	restarts            int
	sandbox             bool // the pod's own container, which no manifest names
}

// criEvent is what `crictl events` tells: which containers a pod has.
type criEvent struct {
	Sandbox struct {
		ID       string `json:"id"`
		Metadata struct {
			Name      string `json:"name"`
			UID       string `json:"uid"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	} `json:"podSandboxStatus"`
	Containers []struct {
		ID       string `json:"id"`
		Metadata struct {
			Attempt int `json:"attempt"`
		} `json:"metadata"`
	} `json:"containersStatuses"`
}

// owners returns the pod of each container that the event names.
func (e criEvent) owners() map[string]owned {
	found := map[string]owned{}
	pod := owned{uid: e.Sandbox.Metadata.UID, namespace: e.Sandbox.Metadata.Namespace, pod: e.Sandbox.Metadata.Name}
	for _, c := range e.Containers {
		pod.restarts = c.Metadata.Attempt
		found[c.ID] = pod
	}
	if e.Sandbox.ID != "" {
		pod.sandbox = true
		found[e.Sandbox.ID] = pod
	}
	return found
}

// parseContainers reads `crictl ps -a -o json`: every container that the kubelet made, by its id. Sandboxes are not in it.
func parseContainers(out string) (map[string]owned, error) {
	var list struct {
		Containers []struct {
			ID       string `json:"id"`
			Metadata struct {
				Attempt int `json:"attempt"`
			} `json:"metadata"`
			Labels map[string]string `json:"labels"`
		} `json:"containers"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("read the node's containers: %w", err)
	}
	found := map[string]owned{}
	for _, c := range list.Containers {
		found[c.ID] = owned{uid: c.Labels["io.kubernetes.pod.uid"], namespace: c.Labels["io.kubernetes.pod.namespace"],
			pod: c.Labels["io.kubernetes.pod.name"], restarts: c.Metadata.Attempt}
	}
	return found, nil
}

// WatchProcesses follows the container runtime's own events on the worker: they have each process's pid, its exit code and
// the instants. A second stream of the runtime's tells which pod a container belongs to.
func (p *Provider) WatchProcesses(ctx context.Context, cluster provider.Cluster, ready func(), on func(provider.ProcessEvent)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &processWatch{provider: p, node: worker(clusterOf(cluster.Name)), on: on, ready: ready,
		word: fmt.Sprint(time.Now().UnixNano()), tasks: make(chan taskEvent, 256), pods: make(chan map[string]owned, 256)}
	for _, part := range []func(context.Context) error{w.followTasks, w.followPods, w.provoke} {
		go func() {
			if err := part(ctx); err != nil {
				stop(err)
			}
		}()
	}
	w.join(ctx, stop)
	return fmt.Errorf("watch the node's processes: %w", context.Cause(ctx))
}

// processWatch turns a runtime's events into those of pods.
type processWatch struct {
	provider *Provider
	node     string
	on       func(provider.ProcessEvent)
	ready    func()
	word     string // what the stream of tasks is tried with
	tasks    chan taskEvent
	pods     chan map[string]owned
	seen     atomic.Bool            // the stream of tasks is live
	known    map[string]owned       // by container
	waiting  map[string][]taskEvent // of containers that are not known yet
}

func (w *processWatch) followTasks(ctx context.Context) error {
	return follow(ctx, w.node, "ctr -n k8s.io events 2>/dev/null", func(out io.Reader) error {
		return eachLine(out, func(line string) error {
			if e, ok := parseTask(line); ok {
				return send(ctx, w.tasks, e)
			}
			return nil
		})
	})
}

func (w *processWatch) followPods(ctx context.Context) error {
	return follow(ctx, w.node, "crictl events -o json 2>/dev/null", func(out io.Reader) error {
		for decoder := json.NewDecoder(out); ; {
			var e criEvent
			if err := decoder.Decode(&e); err != nil {
				return err
			}
			if err := send(ctx, w.pods, e.owners()); err != nil {
				return err
			}
		}
	})
}

// send hands on what was read, unless nobody takes it any more.
func send[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// eventLabel is what the stream is tried with: a label on containerd's namespace, whose change is an event. It is changed
// until the stream shows it: then nothing can be missed any more.
const eventLabel, provokeEvery = "labctl-watch", 100 * time.Millisecond

func (w *processWatch) provoke(ctx context.Context) error {
	tick := time.NewTicker(provokeEvery)
	defer tick.Stop()
	for !w.seen.Load() {
		if _, err := w.provider.in(ctx, w.node+slow, "ctr namespaces label k8s.io "+eventLabel+"="+w.word+" 2>/dev/null"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// join brings both streams together until ctx ends.
func (w *processWatch) join(ctx context.Context, stop context.CancelCauseFunc) {
	w.known, w.waiting = map[string]owned{}, map[string][]taskEvent{}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case owners := <-w.pods:
			w.learn(owners)
		case e := <-w.tasks:
			err = w.task(ctx, e)
		case <-again.C:
			if w.overdue() {
				err = w.list(ctx)
			}
		}
		if err != nil {
			stop(err)
			return
		}
	}
}

// task takes an event of a process.
func (w *processWatch) task(ctx context.Context, e taskEvent) error {
	switch {
	case e.topic == "/namespaces/update" && !w.seen.Load() && e.body.Labels[eventLabel] == w.word:
		w.seen.Store(true)
		if err := w.list(ctx); err != nil {
			return err
		}
		w.ready()
	case !w.seen.Load():
	case e.topic == "/tasks/start", e.topic == "/tasks/exit" && e.body.ID == e.body.Container: // an exec's end has another id
		if _, known := w.known[e.body.Container]; known {
			w.tell(e)
		} else {
			w.waiting[e.body.Container] = append(w.waiting[e.body.Container], e)
		}
	}
	return nil
}

// learn takes what is told of containers, and tells what had waited for it.
func (w *processWatch) learn(owners map[string]owned) {
	for id, pod := range owners {
		w.known[id] = pod
		for _, e := range w.waiting[id] {
			w.tell(e)
		}
		delete(w.waiting, id)
	}
}

func (w *processWatch) tell(e taskEvent) {
	pod := w.known[e.body.Container]
	if pod.sandbox {
		return
	}
	event := provider.ProcessEvent{Started: e.topic == "/tasks/start", UID: pod.uid, Namespace: pod.namespace, Pod: pod.pod,
		PID: e.body.PID, Restarts: pod.restarts, ExitCode: e.body.Status, At: e.at}
	if !event.Started {
		event.At = time.Unix(e.body.Exited.Seconds, e.body.Exited.Nanos)
		delete(w.known, e.body.Container)
	}
	w.on(event)
}

// overdue reports whether a process has waited for its pod's name longer than the streams usually differ, and forgets
// those of which nothing will be told any more.
func (w *processWatch) overdue() bool {
	const usual, most = time.Second, 20 * time.Second
	late := false
	for id, events := range w.waiting {
		switch age := time.Since(events[0].at); {
		case age > most:
			delete(w.waiting, id)
		case age > usual:
			late = true
		}
	}
	return late
}

// list asks the runtime for all containers that there are.
func (w *processWatch) list(ctx context.Context) error {
	out, err := w.provider.in(ctx, w.node+slow, "crictl ps -a -o json 2>/dev/null")
	if err != nil {
		return err
	}
	owners, err := parseContainers(out)
	if err != nil {
		return err
	}
	w.learn(owners)
	return nil
}
