package observe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/labctl/internal/timeline"
)

// tailLines is how much of a log that was written before the run is read: enough to know the replica's recent polls.
const tailLines = 40

// logTails follows one log for each life of each container, and no life twice.
type logTails struct {
	observer *Observer
	ctx      context.Context // the run's: a tail must outlive the watch event that began it
	running  *sync.WaitGroup

	mu   sync.Mutex
	seen map[string]bool
}

// pod begins to follow the containers of a pod that run and are not followed yet.
func (t *logTails) pod(pod *corev1.Pod) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil {
			continue
		}
		life := fmt.Sprintf("%s/%s/%d", pod.UID, c.Name, c.RestartCount)
		t.mu.Lock()
		known := t.seen[life]
		t.seen[life] = true
		t.mu.Unlock()
		if !known {
			t.running.Go(func() { t.follow(pod.Name, string(pod.UID), c.Name) })
		}
	}
}

// follow reads a log to its end. A log that can't be read is noted; the figures that need it are then null.
func (t *logTails) follow(pod, uid, container string) {
	lines := int64(tailLines)
	options := &corev1.PodLogOptions{Container: container, Follow: true, TailLines: &lines}
	client := t.observer.config.Client.CoreV1().Pods(t.observer.config.Namespace)
	body, err := client.GetLogs(pod, options).Stream(t.ctx)
	if err == nil {
		err = t.read(body, pod, uid)
		body.Close()
	}
	if err != nil && t.ctx.Err() == nil {
		t.observer.Emit(timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: pod, UID: uid, Message: "log not readable", Raw: err.Error()}})
	}
}

func (t *logTails) read(body io.Reader, pod, uid string) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 16<<10), 1<<20)
	for lines.Scan() {
		now := time.Now()
		l := parseLine(lines.Bytes())
		l.Pod, l.UID = pod, uid
		t.observer.emitAt(now, timeline.Event{Kind: timeline.LogLine, Log: &l})
	}
	return lines.Err()
}

// parseLine reads a line of slog's JSON. Any other line is kept as its message.
func parseLine(line []byte) timeline.Log {
	var in struct {
		Time     time.Time `json:"time"`
		Level    string    `json:"level"`
		Message  string    `json:"msg"`
		Identity string    `json:"identity"`
	}
	if err := json.Unmarshal(line, &in); err != nil || in.Message == "" {
		return timeline.Log{Message: string(line)}
	}
	out := timeline.Log{Time: in.Time, Level: in.Level, Message: in.Message, Identity: in.Identity}
	if in.Level == "WARN" || in.Level == "ERROR" {
		out.Raw = string(line)
	}
	return out
}
