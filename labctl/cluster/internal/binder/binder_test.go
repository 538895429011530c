package binder

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

// patience bounds waiting for what must come.
const patience = 10 * time.Second

type lab struct {
	client *fake.Clientset
	events *record.FakeRecorder
}

// newLab runs a Binder on a fake client whose binding does what the real one does: it refuses pods that are gone,
// replaced or bound, and sets the node's name.
func newLab(t *testing.T, objects ...runtime.Object) lab {
	t.Helper()
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		pods := corev1.Resource("pods")
		object, err := client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), action.GetNamespace(), binding.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*corev1.Pod).DeepCopy()
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || pod.UID != binding.UID {
			return true, nil, apierrors.NewConflict(pods, pod.Name, nil)
		}
		pod.Spec.NodeName = binding.Target.Name
		return true, binding, client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), pod, action.GetNamespace())
	})
	l := lab{client: client, events: record.NewFakeRecorder(16)}
	factory := informers.NewSharedInformerFactory(client, 0)
	b, err := New(client, l.events, factory.Core().V1().Pods(), factory.Core().V1().Nodes())
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	done := make(chan struct{})
	go func() { defer close(done); b.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
	return l
}

func (l lab) event(t *testing.T) string {
	t.Helper()
	select {
	case e := <-l.events.Events:
		return e
	case <-time.After(patience):
		t.Fatal("no event came")
		return ""
	}
}

func (l lab) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := l.client.CoreV1().Pods("ns").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-of-pod"},
		Spec:       corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func TestPodIsBoundAndTheEventSaysSo(t *testing.T) {
	l := newLab(t, node("b"), node("a"), pod("p"))
	if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to a"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
	if got := l.pod(t, "p").Spec.NodeName; got != "a" {
		t.Errorf("got node %q, want a", got)
	}
}

func TestPodWaitsForTheFirstNode(t *testing.T) {
	l := newLab(t, pod("p"))
	if _, err := l.client.CoreV1().Nodes().Create(context.Background(), node("late"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to late"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
}

func TestRefusalIsReportedAndTakenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		node   func(*corev1.Node)
		pod    func(*corev1.Pod)
		reason string
		undo   func(*corev1.Node)
	}{
		"cordoned": {
			node:   func(n *corev1.Node) { n.Spec.Unschedulable = true },
			reason: "n: node is unschedulable", undo: func(n *corev1.Node) { n.Spec.Unschedulable = false },
		},
		"not ready": {
			node:   func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
			reason: "n: node is not ready", undo: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue },
		},
		"tainted": {
			node:   func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} },
			reason: "n: pod does not tolerate taint k:NoSchedule", undo: func(n *corev1.Node) { n.Spec.Taints = nil },
		},
		"selector": {
			pod:    func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} },
			reason: "n: node does not match the pod's node selector or affinity", undo: func(n *corev1.Node) { n.Labels["disk"] = "fast" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, p := node("n"), pod("p")
			if tt.node != nil {
				tt.node(n)
			}
			if tt.pod != nil {
				tt.pod(p)
			}
			l := newLab(t, n, p)
			if got, want := l.event(t), "Warning FailedScheduling 0/1 nodes are available: "+tt.reason; got != want {
				t.Errorf("got event %q, want %q", got, want)
			}
			conditions := l.pod(t, "p").Status.Conditions
			if len(conditions) != 1 || conditions[0].Type != corev1.PodScheduled || conditions[0].Status != corev1.ConditionFalse || conditions[0].Reason != "Unschedulable" {
				t.Errorf("got conditions %+v", conditions)
			}
			changed := n.DeepCopy()
			tt.undo(changed)
			if _, err := l.client.CoreV1().Nodes().Update(context.Background(), changed, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to n"; got != want {
				t.Errorf("got event %q, want %q", got, want)
			}
		})
	}
}

func TestOthersPodsAreLeftAlone(t *testing.T) {
	now := metav1.Now()
	l := newLab(t, node("n"),
		pod("foreign", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }),
		pod("gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }),
		pod("ending", func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &now, []string{"f/f"} }),
		pod("bound", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" }),
		pod("plain"))
	if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/plain to n"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
	for _, name := range []string{"foreign", "gated", "ending"} {
		if got := l.pod(t, name).Spec.NodeName; got != "" {
			t.Errorf("%s was bound to %s", name, got)
		}
	}
}

func TestToleratedTaintIsNoObstacle(t *testing.T) {
	l := newLab(t, node("n", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}} }),
		pod("p", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }))
	if got, want := l.event(t), "Normal Scheduled Successfully assigned ns/p to n"; got != want {
		t.Errorf("got event %q, want %q", got, want)
	}
}

func TestHeartbeatDoesNotChangeEligibility(t *testing.T) {
	before := node("n")
	after := before.DeepCopy()
	after.Status.Conditions[0].LastHeartbeatTime = metav1.Now()
	if eligibilityChanged(before, after) {
		t.Error("a heartbeat was taken for a change")
	}
}
