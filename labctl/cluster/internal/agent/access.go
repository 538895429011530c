package agent

import (
	"fmt"
	"path/filepath"

	"academy.example/lab/labctl/cluster/internal/streams"
)

// streamTarget finds a container for the kubelet API, by the names it is asked with.
func (n *node) streamTarget(namespace, pod, uid, container string) (*streams.Target, error) {
	for _, id := range n.uids() {
		w := n.worker(id)
		if w == nil || uid != "" && id != uid {
			continue
		}
		v := w.shown.Load()
		if v.pod.Namespace != namespace || v.pod.Name != pod {
			continue
		}
		for i := range v.containers {
			if c := &v.containers[i]; container == "" || c.name == container {
				return c.target(v), nil
			}
		}
		if _, refused := v.ephemeral[container]; refused {
			return nil, fmt.Errorf("%w: container %q in pod %q: %s", streams.ErrRefused, container, pod, ephemeralMessage)
		}
		return nil, fmt.Errorf("%w: container %q in pod %q", streams.ErrNotFound, container, pod)
	}
	return nil, fmt.Errorf("%w: pod %q", streams.ErrNotFound, pod)
}

func (c *containerView) target(v *view) *streams.Target {
	t := &streams.Target{Pod: v.pod.Name, Container: c.name, IP: v.ip, Waiting: c.waiting}
	log := func(restarts int32) string { return filepath.Join(c.folder, fmt.Sprintf("%d.log", restarts)) }
	if c.ran {
		t.ID, t.Log = c.id, log(c.restarts)
		switch {
		case c.between: // the run before the next one is the last one
			t.PreviousLog = t.Log
		case c.restarts > 0:
			t.PreviousLog = log(c.restarts - 1)
		}
	}
	if c.proc != nil && c.launch != nil {
		t.Running = c.ctx
		t.Exec = c.launch.spec
		t.Find = c.launch.find
	}
	return t
}
