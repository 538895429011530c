package agent

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStart(t *testing.T) {
	tests := map[string]struct {
		latency time.Duration
		change  func(*corev1.Pod)
		starts  bool
	}{
		"at once without latency":  {starts: true},
		"not before the latency":   {latency: 150 * time.Millisecond, starts: true},
		"not a pod of another":     {change: func(p *corev1.Pod) { p.Spec.NodeName = "other" }},
		"not a pod that has ended": {change: func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLabIn(t, t.TempDir(), test.latency)
			p := pod("subject", "polite")
			if test.change != nil {
				test.change(p)
			}
			bound := time.Now()
			l.add(p)
			if !test.starts {
				// A pod that comes later and starts shows that this one was passed over.
				l.add(pod("later", "polite"))
				l.awaitReady("later")
				if l.api.pod("space", "subject").Status.StartTime != nil {
					t.Error("the pod was touched")
				}
				return
			}
			ready := l.awaitReady("subject")
			delay := l.awaitLine("started", "subject").at(t).Sub(bound)
			if delay < test.latency || delay > test.latency+time.Second {
				t.Errorf("started %s after it was bound, latency %s", delay, test.latency)
			}
			checkRunning(t, ready)
		})
	}
}

func checkRunning(t *testing.T, p *corev1.Pod) {
	t.Helper()
	s := p.Status
	if s.Phase != corev1.PodRunning || s.PodIP == "" || s.PodIPs[0].IP != s.PodIP || s.HostIP != hostIP || s.StartTime == nil {
		t.Errorf("status = %+v", s)
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady, corev1.PodReadyToStartContainers} {
		if !isTrue(s.Conditions, kind) {
			t.Errorf("condition %s is not true: %+v", kind, s.Conditions)
		}
	}
	c := s.ContainerStatuses[0]
	if c.State.Running == nil || !c.Ready || !*c.Started || c.RestartCount != 0 || c.ContainerID == "" {
		t.Errorf("container status = %+v", c)
	}
}

// within tells whether d is at least low and not much more.
func within(d, low time.Duration) bool { return d >= low && d < low+500*time.Millisecond }

func TestDelete(t *testing.T) {
	minGrace := testTiming().minGrace
	tests := map[string]struct {
		program string
		deletes []int64 // grace of each delete; -1 is the pod's own
		code    int
		after   time.Duration // from the first delete to the end of the process
		forced  bool          // the object goes before the process
	}{
		"graceful":                        {program: "polite", deletes: []int64{-1}},
		"graceful, SIGTERM ignored":       {program: "deaf", deletes: []int64{1}, code: 137, after: time.Second},
		"a second delete shortens":        {program: "deaf", deletes: []int64{-1, 1}, code: 137, after: time.Second},
		"a second delete never lengthens": {program: "deaf", deletes: []int64{1, 30}, code: 137, after: time.Second},
		"forced":                          {program: "polite", deletes: []int64{0}, forced: true},
		"forced, SIGTERM ignored":         {program: "deaf", deletes: []int64{0}, code: 137, after: minGrace, forced: true},
		"forced after graceful":           {program: "deaf", deletes: []int64{-1, 0}, code: 137, after: minGrace, forced: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", test.program)
			l.add(p)
			l.awaitReady("subject")
			l.awaitLog(p, 0, "running")
			asked := time.Now()
			for _, grace := range test.deletes {
				l.delete("subject", grace)
			}
			if test.forced && l.api.pod("space", "subject") != nil {
				t.Error("the object outlives a forced delete")
			}
			end := l.awaitLine("exited", "subject")
			if took := end.at(t).Sub(asked); *end.ExitCode != test.code || !within(took, test.after) {
				t.Errorf("ended with %d after %s, want %d after %s", *end.ExitCode, took, test.code, test.after)
			}
			l.awaitGone("subject")
			l.awaitClean(p)
			l.checkDeletes(p, test.deletes, test.forced)
		})
	}
}

// checkDeletes sees that the agent deletes exactly when nobody else has, and only this pod.
func (l *lab) checkDeletes(p *corev1.Pod, asked []int64, forced bool) {
	l.Helper()
	own := l.api.deletes[len(asked):]
	if forced {
		if len(own) > 0 {
			l.Errorf("the agent deleted a pod that was gone: %+v", own)
		}
		return
	}
	if len(own) != 1 || *own[0].GracePeriodSeconds != 0 || own[0].Preconditions == nil || *own[0].Preconditions.UID != p.UID {
		l.Errorf("final deletes = %+v", own)
	}
}

func TestFinalStatus(t *testing.T) {
	tests := map[string]struct {
		program string
		phase   corev1.PodPhase
		reason  string
	}{
		"ended well": {"polite", corev1.PodSucceeded, "Completed"},
		"was killed": {"deaf", corev1.PodFailed, "Error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", test.program)
			l.add(p)
			l.awaitReady("subject")
			l.awaitLog(p, 0, "running")
			l.delete("subject", 1)
			final := l.await("subject", "ended", func(p *corev1.Pod) bool {
				return p != nil && p.Status.Phase != corev1.PodRunning
			})
			c := final.Status.ContainerStatuses[0]
			if final.Status.Phase != test.phase || c.State.Terminated == nil || c.State.Terminated.Reason != test.reason || c.Ready {
				t.Errorf("final status = %+v", final.Status)
			}
		})
	}
}

func TestGoneWithoutAMark(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite")
	l.add(p)
	l.awaitReady("subject")
	l.awaitLog(p, 0, "running")
	// Only the removal is seen, as after a hole in the watch.
	if err := l.api.Tracker().Delete(podResource(), "space", "subject"); err != nil {
		t.Fatal(err)
	}
	if end := l.awaitLine("exited", "subject"); *end.ExitCode != 0 {
		t.Errorf("ended with %d, want a SIGTERM first", *end.ExitCode)
	}
	l.awaitClean(p)
}

func TestReplaceFindsWhatIsGone(t *testing.T) {
	l := newLab(t)
	kept, lost := pod("kept", "polite"), pod("lost", "polite")
	l.add(kept)
	l.add(lost)
	l.awaitReady("kept")
	l.awaitReady("lost")
	l.awaitLog(lost, 0, "running")
	store := &podStore{node: l.node, ctx: t.Context()}
	if err := store.Replace([]any{l.api.pod("space", "kept")}, ""); err != nil {
		t.Fatal(err)
	}
	l.awaitLine("exited", "lost")
	l.awaitClean(lost)
	if l.node.worker(string(kept.UID)) == nil {
		t.Error("the pod that is still there was dropped")
	}
}

func TestSameNameIsAnotherPod(t *testing.T) {
	l := newLab(t)
	first, second := pod("subject", "deaf"), pod("subject", "polite")
	l.add(first)
	l.awaitReady("subject")
	l.awaitLog(first, 0, "running")
	l.delete("subject", 0)
	l.add(second)
	l.await("subject", "the second one, ready", func(p *corev1.Pod) bool {
		return p != nil && p.UID == second.UID && isTrue(p.Status.Conditions, corev1.PodReady)
	})
	if end := l.awaitLine("exited", "subject"); end.UID != string(first.UID) {
		t.Errorf("UID %s ended, want %s", end.UID, first.UID)
	}
	l.awaitClean(first)
	if p := l.api.pod("space", "subject"); p == nil || p.UID != second.UID || p.DeletionTimestamp != nil {
		t.Errorf("the second pod is %+v", p)
	}
}

func TestTerminatingPodThatIsUnknown(t *testing.T) {
	now, grace := metav1.Now(), int64(30)
	p := pod("subject", "polite", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &grace
	})
	l := newLab(t)
	l.add(p)
	l.awaitGone("subject")
	l.awaitClean(p)
}

func TestDeleteBeforeTheStart(t *testing.T) {
	for name, grace := range map[string]int64{"graceful": -1, "forced": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLabIn(t, t.TempDir(), time.Hour)
			p := pod("subject", "polite", withToken)
			l.add(p)
			l.await("subject", "taken in", func(p *corev1.Pod) bool { return isTrue(p.Status.Conditions, corev1.PodReadyToStartContainers) })
			relay := l.node.worker(string(p.UID)).serverPort(t, l)
			l.delete("subject", grace)
			l.awaitGone("subject")
			l.awaitClean(p)
			if conn, err := net.Dial("tcp", relay); err == nil {
				_ = conn.Close() // only tried
				t.Error("the relay outlives the pod")
			}
		})
	}
}

// serverPort is the address of the relay that the pod's kubeconfig names.
func (w *worker) serverPort(t *testing.T, l *lab) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(l.state, "pods", w.uid, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "https://")
	address, _, _ := strings.Cut(after, `"`)
	return address
}

func TestDeleteWhileTheServerIsDown(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "deaf")
	l.add(p)
	l.awaitReady("subject")
	l.awaitLog(p, 0, "running")
	l.delete("subject", 1)
	asked := time.Now()
	l.api.setDown(true)
	// The process must not wait for a server that does not answer.
	if took := l.awaitLine("exited", "subject").at(t).Sub(asked); !within(took, 900*time.Millisecond) {
		t.Errorf("ended after %s", took)
	}
	l.api.setDown(false)
	l.awaitGone("subject")
	l.awaitClean(p)
}

func TestAgentEnds(t *testing.T) {
	for program, code := range map[string]int{"polite": 0, "deaf": 137} {
		t.Run(program, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", program)
			l.add(p)
			l.awaitReady("subject")
			l.awaitLog(p, 0, "running")
			pid := l.awaitLine("started", "subject").PID
			l.stop()
			if end := l.awaitLine("exited", "subject"); *end.ExitCode != code {
				t.Errorf("ended with %d, want %d", *end.ExitCode, code)
			}
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				t.Errorf("process %d after the agent: %v", pid, err)
			}
			if l.api.pod("space", "subject").DeletionTimestamp != nil {
				t.Error("the pod does not stay")
			}
		})
	}
}
