package observe

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	seen map[life]bool
}

// life is one run of one container.
type life struct {
	pod, uid, container string
	restarts            int32
}

// pod begins to follow the containers of a pod that run and are not followed yet.
func (t *logTails) pod(pod *corev1.Pod) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil {
			continue
		}
		l := life{pod: pod.Name, uid: string(pod.UID), container: c.Name, restarts: c.RestartCount}
		t.mu.Lock()
		known := t.seen[l]
		t.seen[l] = true
		t.mu.Unlock()
		if !known {
			t.running.Go(func() { t.follow(l) })
		}
	}
}

// follow reads a log to the end of its container's life. A stream that ends before is opened again, which may leave a
// hole: the figures that need the log are then null.
func (t *logTails) follow(l life) {
	for since := (*metav1.Time)(nil); t.ctx.Err() == nil; {
		last, err := t.stream(l, since)
		if t.ctx.Err() != nil {
			return
		}
		if !t.lives(l) || err == nil && t.endsSoon(l) {
			if err == nil {
				t.emit(timeline.LogEnded, l, "")
			} else {
				t.emit(timeline.LogHole, l, err.Error())
			}
			return
		}
		note := "the log's stream ended while its container runs"
		if err != nil {
			note = err.Error()
		}
		t.emit(timeline.LogHole, l, note)
		if last != nil {
			since = last
		}
		if !pause(t.ctx, retryAfter) {
			return
		}
	}
}

func (t *logTails) emit(kind timeline.Kind, l life, note string) {
	t.observer.Emit(timeline.Event{Kind: kind, Log: &timeline.Log{Pod: l.pod, UID: l.uid, Restarts: int(l.restarts)}, Note: note})
}

// lives asks whether the container still runs the life that is followed; true as long as that can't be found out.
func (t *logTails) lives(l life) bool {
	asking, cancel := context.WithTimeout(t.ctx, askLimit)
	defer cancel()
	pod, err := t.observer.config.Client.CoreV1().Pods(t.observer.config.Namespace).Get(asking, l.pod, metav1.GetOptions{})
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == l.container {
			return string(pod.UID) == l.uid && c.RestartCount == l.restarts && c.State.Running != nil
		}
	}
	return false
}

// endsSoon waits for the news that the container has ended: a stream that ends well is the first to know, and a kubelet
// tells the API server up to a second later, when it looks at its containers the next time.
func (t *logTails) endsSoon(l life) bool {
	for deadline := time.Now().Add(newsLimit); time.Now().Before(deadline); {
		if !pause(t.ctx, newsEvery) || !t.lives(l) {
			return true
		}
	}
	return false
}

const newsLimit, newsEvery = 2500 * time.Millisecond, 100 * time.Millisecond

// askLimit bounds the question whether a container still runs.
const askLimit = 5 * time.Second

// stream reads a log once, after since if that is given, and returns the time of its last line.
func (t *logTails) stream(l life, since *metav1.Time) (last *metav1.Time, err error) {
	options := &corev1.PodLogOptions{Container: l.container, Follow: true, SinceTime: since}
	if since == nil {
		lines := int64(tailLines)
		options.TailLines = &lines
	}
	client := t.observer.config.Client.CoreV1().Pods(t.observer.config.Namespace)
	body, err := client.GetLogs(l.pod, options).Stream(t.ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return t.read(body, l, since)
}

// read hands on the lines that are newer than since.
func (t *logTails) read(body io.Reader, from life, since *metav1.Time) (last *metav1.Time, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 16<<10), 1<<20)
	for lines.Scan() {
		now := time.Now()
		l := parseLine(lines.Bytes())
		if !l.Time.IsZero() {
			if since != nil && !l.Time.After(since.Time) {
				continue
			}
			last = &metav1.Time{Time: l.Time}
		}
		l.Pod, l.UID, l.Restarts = from.pod, from.uid, int(from.restarts)
		t.observer.emitAt(now, timeline.Event{Kind: timeline.LogLine, Log: &l})
	}
	return last, lines.Err()
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
