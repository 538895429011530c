package providertest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/provider"
)

// patience is for what must come. A real node may be busy with all the other cases.
const patience = 60 * time.Second

// pods makes and watches the pods of one case.
type pods struct {
	*testing.T
	*suite
	names map[string]string // of a Deployment's first pod, by the name that the case gave it
}

// add makes a pod that runs the subject with these arguments.
func (p *pods) add(name string, args []string, change ...func(*corev1.Pod)) *corev1.Pod {
	p.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"case": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: p.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
			Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
		}}},
	}
	for _, f := range change {
		f(pod)
	}
	if p.Namespace != "" {
		return p.deploy(pod)
	}
	made, err := p.client.CoreV1().Pods(p.namespace).Create(p.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	return made
}

// deploy has a Deployment make the pod, and from then on knows the first pod that it made by the given name.
func (p *pods) deploy(pod *corev1.Pod) *corev1.Pod {
	p.Helper()
	deployments := p.client.AppsV1().Deployments(p.namespace)
	_, err := deployments.Create(p.Context(), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}}}, metav1.CreateOptions{})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		if err := deployments.Delete(context.Background(), pod.Name, metav1.DeleteOptions{}); err != nil {
			p.Errorf("remove the Deployment: %v", err)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		found, err := p.client.CoreV1().Pods(p.namespace).List(p.Context(), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(metav1.SetAsLabelSelector(pod.Labels))})
		if err != nil {
			p.Fatal(err)
		}
		if len(found.Items) > 0 {
			p.names = map[string]string{pod.Name: found.Items[0].Name}
			return &found.Items[0]
		}
		if time.Now().After(deadline) {
			p.Fatalf("the Deployment %s makes no pod in %s", pod.Name, patience)
		}
	}
}

// running makes such a pod and waits until its program runs; started is when it did, by its own clock.
func (p *pods) running(name string, args []string, change ...func(*corev1.Pod)) (pod *corev1.Pod, started time.Time) {
	p.Helper()
	p.add(name, args, change...)
	pod = p.awaitReady(name)
	return pod, p.log(pod).stamp("running")
}

// delete asks as `kubectl delete` does; a grace below 0 is the pod's own.
func (p *pods) delete(name string, grace int64) time.Time {
	p.Helper()
	options := metav1.DeleteOptions{}
	if grace >= 0 {
		options.GracePeriodSeconds = &grace
	}
	asked := time.Now()
	if err := p.client.CoreV1().Pods(p.namespace).Delete(p.Context(), name, options); err != nil {
		p.Fatal(err)
	}
	return asked
}

// get returns the pod, nil if it is gone.
func (p *pods) get(name string) *corev1.Pod {
	p.Helper()
	pod, err := p.client.CoreV1().Pods(p.namespace).Get(p.Context(), cmp.Or(p.names[name], name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		p.Fatal(err)
	}
	return pod
}

// await returns the first state of the pod that is seen to be as wanted; nil is the pod gone.
func (p *pods) await(name, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	p.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(25 * time.Millisecond) {
		pod := p.get(name)
		if wanted(pod) {
			return pod
		}
		if time.Now().After(deadline) {
			status := []byte("gone")
			if pod != nil {
				status, _ = json.MarshalIndent(pod.Status, "", " ")
			}
			p.Fatalf("pod %s is not %s after %s: %s", name, what, patience, status)
		}
	}
}

func (p *pods) awaitReady(name string) *corev1.Pod {
	p.Helper()
	return p.await(name, "ready", func(pod *corev1.Pod) bool { return ready(pod) })
}

func (p *pods) awaitGone(name string) time.Time {
	p.Helper()
	p.await(name, "gone", func(pod *corev1.Pod) bool { return pod == nil })
	return time.Now()
}

// first is the status of the pod's container, empty as long as there is none.
func first(pod *corev1.Pod) corev1.ContainerStatus {
	if pod == nil || len(pod.Status.ContainerStatuses) == 0 {
		return corev1.ContainerStatus{}
	}
	return pod.Status.ContainerStatuses[0]
}

func isTrue(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func ready(pod *corev1.Pod) bool { return pod != nil && isTrue(pod, corev1.PodReady) }

// logs is a container's log, followed from its beginning.
type logs struct {
	t     testing.TB
	mu    sync.Mutex
	lines []string
	ended bool
}

// log follows the log of a pod's present container until the case ends.
func (p *pods) log(pod *corev1.Pod) *logs {
	p.Helper()
	stream, err := p.client.CoreV1().Pods(p.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	l := &logs{t: p.T}
	go l.read(stream)
	return l
}

func (l *logs) read(stream io.ReadCloser) {
	defer stream.Close()
	scan := bufio.NewScanner(stream)
	for scan.Scan() {
		l.mu.Lock()
		l.lines = append(l.lines, scan.Text())
		l.mu.Unlock()
	}
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
}

func (l *logs) all() (lines []string, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...), l.ended
}

// line waits for a line that begins so.
func (l *logs) line(begin string) (string, bool) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		lines, ended := l.all()
		for _, line := range lines {
			if strings.HasPrefix(line, begin) {
				return line, true
			}
		}
		if ended || time.Now().After(deadline) {
			return "", false
		}
	}
}

// stamp waits for such a line and returns the instant that it ends with.
func (l *logs) stamp(begin string) time.Time {
	l.t.Helper()
	line, found := l.line(begin)
	nanoseconds, err := strconv.ParseInt(line[strings.LastIndex(line, " ")+1:], 10, 64)
	if !found || err != nil {
		lines, ended := l.all()
		l.t.Fatalf("the log has no line %q with an instant (ended %t): %q", begin, ended, lines)
	}
	return time.Unix(0, nanoseconds)
}

// processes are the node's events of the suite's namespace so far.
type processes struct {
	mu     sync.Mutex
	events []provider.ProcessEvent
}

// watch follows the node until the suite ends.
func watch(t *testing.T, watcher provider.ProcessWatcher, cluster provider.Cluster, namespace string) *processes {
	t.Helper()
	p, ready := &processes{}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- watcher.WatchProcesses(ctx, cluster, func() { close(ready) }, func(e provider.ProcessEvent) {
			if e.Namespace == namespace {
				p.mu.Lock()
				p.events = append(p.events, e)
				p.mu.Unlock()
			}
		})
	}()
	t.Cleanup(cancel)
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(patience):
		t.Fatal("the node's events are not ready")
	}
	return p
}

// event waits for the start or the end of a pod's process of that restart count. ok is false where no provider tells.
func (p *pods) event(pod *corev1.Pod, started bool, restarts int) (e provider.ProcessEvent, ok bool) {
	p.Helper()
	if p.processes == nil {
		return e, false
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		p.processes.mu.Lock()
		for _, e := range p.processes.events {
			if e.UID == string(pod.UID) && e.Started == started && e.Restarts == restarts {
				p.processes.mu.Unlock()
				return e, true
			}
		}
		p.processes.mu.Unlock()
		if time.Now().After(deadline) {
			p.Fatalf("the node tells no event (started %t, restarts %d) of pod %s", started, restarts, pod.Name)
		}
	}
}

// end checks how a pod's process of that restart count ended, where the provider tells; the instant is zero elsewhere.
func (p *pods) end(pod *corev1.Pod, restarts, code int) time.Time {
	p.Helper()
	e, told := p.event(pod, false, restarts)
	if told && e.ExitCode != code {
		p.Errorf("the process ended with %d, want %d", e.ExitCode, code)
	}
	return e.At
}
