package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/record"

	"academy.example/lab/labctl/cluster/internal/process"
)

const (
	testNode = "academy-node"
	patience = 10 * time.Second // for what must come; nothing takes that long
)

// lab is a node on a stand-in API server, with waits short enough to test.
type lab struct {
	*testing.T
	api    *api
	node   *node
	state  string
	watch  watch.Interface
	lines  <-chan []byte
	events *record.FakeRecorder
	stop   func()
}

func testTiming() timing {
	return timing{
		backoff:    process.Backoff{Floor: 100 * time.Millisecond, First: 300 * time.Millisecond, Max: 500 * time.Millisecond},
		minGrace:   200 * time.Millisecond,
		exitGrace:  200 * time.Millisecond,
		retryFirst: 5 * time.Millisecond,
		retryMax:   50 * time.Millisecond,
	}
}

func newLab(t *testing.T, pods ...*corev1.Pod) *lab { return newLabIn(t, t.TempDir(), 0, pods...) }

func newLabIn(t *testing.T, state string, latency time.Duration, pods ...*corev1.Pod) *lab {
	t.Helper()
	l := &lab{T: t, api: newAPI(t), state: state}
	for _, pod := range pods {
		l.add(pod)
	}
	watcher, err := l.api.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.watch = watcher
	<-l.api.watching
	l.run(latency)
	return l
}

// run starts a life of the agent; stop ends it.
func (l *lab) run(latency time.Duration) {
	l.Helper()
	ca := filepath.Join(l.state, "ca.crt")
	if err := os.WriteFile(ca, []byte("authority"), 0o600); err != nil {
		l.Fatal(err)
	}
	n, err := newNode(Config{
		StateDir: l.state, SocketDir: filepath.Join(l.state, "s"), NodeName: testNode, StartLatency: latency,
		Images:    map[string]string{"program": os.Args[0]},
		APIServer: "https://127.0.0.1:1", APIServerCA: ca,
	}, l.api, testTiming())
	if err != nil {
		l.Fatal(err)
	}
	l.node, l.events = n, record.NewFakeRecorder(100)
	n.recorder = l.events
	lines, _ := n.hub.subscribe()
	l.lines = lines
	ctx, cancel := context.WithCancel(context.Background())
	n.wg.Go(func() { n.watchPods(ctx) })
	l.stop = func() {
		cancel()
		n.wg.Wait()
	}
	l.Cleanup(func() { l.stop() })
	<-l.api.watching
}

// pod is one that runs a program of this test binary.
func pod(name, program string, change ...func(*corev1.Pod)) *corev1.Pod {
	grace := int64(30)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "space", Name: name, UID: types.UID(fmt.Sprintf("%08x-uid", time.Now().UnixNano()&0xffffffff))},
		Spec: corev1.PodSpec{
			NodeName: testNode, ServiceAccountName: "account", TerminationGracePeriodSeconds: &grace,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers: []corev1.Container{{
				Name: "main", Image: "program:tag",
				Env: []corev1.EnvVar{{Name: programKey, Value: program}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func args(args ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Args = args }
}

func (l *lab) add(p *corev1.Pod) {
	l.Helper()
	if err := l.api.Tracker().Create(podResource(), p.DeepCopy(), p.Namespace); err != nil {
		l.Fatal(err)
	}
}

// delete does what `kubectl delete` does, forced with grace 0 and with the pod's own grace below 0.
func (l *lab) delete(name string, grace int64) {
	l.Helper()
	options := metav1.DeleteOptions{}
	if grace >= 0 {
		options.GracePeriodSeconds = &grace
	}
	if err := l.api.CoreV1().Pods("space").Delete(l.Context(), name, options); err != nil {
		l.Fatal(err)
	}
}

// await returns the first state of the pod that is as wanted; nil is the pod gone.
func (l *lab) await(name, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	l.Helper()
	if p := l.api.pod("space", name); wanted(p) {
		return p
	}
	timeout := time.After(patience)
	for {
		select {
		case event := <-l.watch.ResultChan():
			p, ok := event.Object.(*corev1.Pod)
			if !ok || p.Name != name {
				continue
			}
			if event.Type == watch.Deleted {
				p = nil
			}
			if wanted(p) {
				return p
			}
		case <-timeout:
			status, _ := json.MarshalIndent(l.api.pod("space", name), "", " ")
			l.Fatalf("pod %s is not %s: %s", name, what, status)
		}
	}
}

// first is the status of the pod's first container, empty as long as there is none.
func first(p *corev1.Pod) corev1.ContainerStatus {
	if p == nil || len(p.Status.ContainerStatuses) == 0 {
		return corev1.ContainerStatus{}
	}
	return p.Status.ContainerStatuses[0]
}

func (l *lab) awaitReady(name string) *corev1.Pod {
	l.Helper()
	return l.await(name, "ready", func(p *corev1.Pod) bool { return p != nil && isTrue(p.Status.Conditions, corev1.PodReady) })
}

func (l *lab) awaitGone(name string) {
	l.Helper()
	l.await(name, "gone", func(p *corev1.Pod) bool { return p == nil })
}

// awaitLine returns the next line of the given type about the pod.
func (l *lab) awaitLine(kind, name string) change {
	l.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line := <-l.lines:
			var c change
			if err := json.Unmarshal(line, &c); err != nil {
				l.Fatal(err)
			}
			if c.Type == kind && c.Name == name {
				return c
			}
		case <-timeout:
			l.Fatalf("pod %s has not %s", name, kind)
		}
	}
}

func (c change) at(t *testing.T) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, c.Wall)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// awaitEvent returns the next event with the reason.
func (l *lab) awaitEvent(reason string) string {
	l.Helper()
	timeout := time.After(patience)
	for {
		select {
		case event := <-l.events.Events:
			if strings.Contains(event, " "+reason+" ") {
				return event
			}
		case <-timeout:
			l.Fatalf("no event %s", reason)
		}
	}
}

// awaitLog returns once the run's log holds text.
func (l *lab) awaitLog(p *corev1.Pod, restarts int, text string) string {
	l.Helper()
	path := filepath.Join(l.state, "pods", string(p.UID), "main", fmt.Sprintf("%d.log", restarts))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for {
		data, _ := os.ReadFile(path) // it may not be there yet
		if strings.Contains(string(data), text) {
			return string(data)
		}
		select {
		case <-tick.C:
		case <-timeout:
			l.Fatalf("log %s lacks %q: %q", path, text, data)
		}
	}
}

// awaitClean returns once nothing is left of the pod on the node.
func (l *lab) awaitClean(p *corev1.Pod) {
	l.Helper()
	w := l.node.worker(string(p.UID))
	if w != nil {
		select {
		case <-w.done:
		case <-time.After(patience):
			l.Fatalf("worker of %s goes on", p.Name)
		}
	}
	for _, dir := range []string{"pods/" + string(p.UID), "s/p/" + tempName(string(p.UID))} {
		if _, err := os.Stat(filepath.Join(l.state, dir)); !os.IsNotExist(err) {
			l.Errorf("%s is left: %v", dir, err)
		}
	}
}
