package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// collector keeps events and lets a test wait for one.
type collector struct {
	mu     sync.Mutex
	events []timeline.Event
	more   chan struct{}
}

func (c *collector) on(e timeline.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// await returns the first event that fits; the test's own time limit ends a wait in vain.
func (c *collector) await(fits func(timeline.Event) bool) timeline.Event {
	for {
		c.mu.Lock()
		i := slices.IndexFunc(c.events, fits)
		if i >= 0 {
			defer c.mu.Unlock()
			return c.events[i]
		}
		c.mu.Unlock()
		<-c.more
	}
}

func kind(k timeline.Kind) func(timeline.Event) bool {
	return func(e timeline.Event) bool { return e.Kind == k }
}

func TestStart_TellsLeasePodsWorkLogsAndProcesses(t *testing.T) {
	holder, seconds, transitions := "pod-a", int32(15), int32(3)
	meta := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-1", Labels: labels, ResourceVersion: "5"}
	}
	client := fake.NewClientset(
		&coordinationv1.Lease{ObjectMeta: meta("lock", nil), Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, LeaseTransitions: &transitions}},
		&corev1.Pod{ObjectMeta: meta("pod-a", map[string]string{"app": "x"}), Status: corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "work", Labels: map[string]string{"w": "true"},
			Annotations: map[string]string{api.AnnotationHolder: "pod-a", api.AnnotationTransition: "3", api.AnnotationSequence: "41"}}},
	)
	o := New(Config{Client: client, Namespace: "ns", Lease: "lock", Pods: "app=x", Work: "w=true", Logs: true,
		Processes: func(ctx context.Context, ready func(), on func(timeline.Kind, timeline.Process)) error {
			ready()
			on(timeline.ProcessUp, timeline.Process{Pod: "pod-a", PID: 7})
			<-ctx.Done()
			return ctx.Err()
		}})
	c := &collector{more: make(chan struct{}, 1)}
	o.Listen(c.on)
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := o.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if l := c.await(kind(timeline.LeaseSeen)).Lease; l.Holder != "pod-a" || l.LeaseDurationSeconds != 15 || l.Transitions != 3 {
		t.Errorf("lease: got %+v", l)
	}
	if p := c.await(kind(timeline.PodSeen)).Pod; p.Name != "pod-a" || !p.Ready || p.Restarts != 2 || p.Terminating {
		t.Errorf("pod: got %+v", p)
	}
	if w := c.await(kind(timeline.WorkSeen)).Work; w.Holder != "pod-a" || w.Transition != 3 || w.Sequence != 41 {
		t.Errorf("work: got %+v", w)
	}
	if p := c.await(kind(timeline.ProcessUp)).Process; p.PID != 7 {
		t.Errorf("process: got %+v", p)
	}
	if l := c.await(kind(timeline.LogLine)).Log; l.Pod != "pod-a" || l.Message != "fake logs" { // what client-go's fake serves
		t.Errorf("log: got %+v", l)
	}
	if err := client.CoordinationV1().Leases("ns").Delete(ctx, "lock", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.await(kind(timeline.LeaseGone))
	cancel()
	wait()
}

func TestEmit_StampsTrialAndARisingClock(t *testing.T) {
	o := New(Config{})
	c := &collector{more: make(chan struct{}, 1)}
	o.Listen(c.on)
	o.Emit(timeline.Event{Kind: timeline.RunStarted})
	o.SetTrial(2)
	o.Emit(timeline.Event{Kind: timeline.FaultIssued})
	if c.events[0].Trial != 0 || c.events[1].Trial != 2 || c.events[1].Seconds < c.events[0].Seconds || c.events[1].Wall.IsZero() {
		t.Errorf("got %+v", c.events)
	}
}

func TestHeed_AProgramThatRunsIsNoHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := New(Config{})
		c := &collector{more: make(chan struct{}, 1)}
		o.Listen(c.on)
		ctx, cancel := context.WithCancel(t.Context())
		go o.heed(ctx)
		time.Sleep(5 * time.Second) // virtual: the program runs all the while
		cancel()
		synctest.Wait()
		if len(c.events) != 0 {
			t.Errorf("got %+v, want nothing from a program that ran", c.events)
		}
	})
}

func TestStart_GivesUpWithTheLastFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		ctx, cancel := context.WithCancel(t.Context())
		wait, err := New(Config{Client: client, Namespace: "ns", Lease: "lock"}).Start(ctx)
		if err == nil || !strings.Contains(err.Error(), "did not begin within 30s: watch lease: connection refused") {
			t.Errorf("got %v", err)
		}
		cancel()
		wait()
	})
}
