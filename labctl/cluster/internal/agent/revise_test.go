package agent

import (
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// change does what `kubectl patch` does to a pod's spec.
func (l *lab) change(name string, f func(*corev1.PodSpec)) {
	l.Helper()
	p := l.api.pod("space", name).DeepCopy()
	f(&p.Spec)
	if err := l.api.Tracker().Update(podResource(), p, p.Namespace); err != nil {
		l.Fatal(err)
	}
}

func setImage(image string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Containers[0].Image = image }
}

func TestAnotherImageRestartsTheContainer(t *testing.T) {
	for _, p := range []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyNever} {
		t.Run(string(p), func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", "polite", policy(p))
			l.add(p)
			l.awaitReady("subject")
			l.awaitLog(p, 0, "running")
			l.change("subject", setImage("program:other"))
			if event := l.awaitEvent("Killing"); !strings.Contains(event, "Container main definition changed, will be restarted") {
				t.Errorf("event %q", event)
			}
			again := l.await("subject", "restarted", func(p *corev1.Pod) bool { return first(p).RestartCount == 1 && first(p).Ready })
			if s := first(again); s.Image != "program:other" || s.LastTerminationState.Terminated.ExitCode != 0 {
				t.Errorf("container status = %+v", s)
			}
		})
	}
}

func TestAnotherImageIsTriedWhereOneWasMissing(t *testing.T) {
	l := newLab(t)
	l.add(pod("subject", "polite", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "none" }))
	for _, image := range []string{"none:2", "program"} {
		l.awaitEvent(reasonNoImage)
		before := l.api.pod("space", "subject").Spec.Containers[0].Image
		// The stand-in mixes up a change and a status that is being written: the status comes first.
		l.await("subject", "told so", func(p *corev1.Pod) bool {
			w := first(p).State.Waiting
			return w != nil && strings.Contains(w.Message, strconv.Quote(before))
		})
		l.change("subject", setImage(image))
	}
	if s := first(l.awaitReady("subject")); s.RestartCount != 0 || s.Image != "program" {
		t.Errorf("container status = %+v", s)
	}
}

func TestEphemeralContainer(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite")
	l.add(p)
	l.awaitReady("subject")
	l.change("subject", func(s *corev1.PodSpec) {
		s.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", Image: "busybox"}}}
	})
	if event := l.awaitEvent(reasonUnsupported); !strings.Contains(event, "ephemeral container debugger: ") {
		t.Errorf("event %q", event)
	}
	told := l.await("subject", "told of it", func(p *corev1.Pod) bool { return len(p.Status.EphemeralContainerStatuses) == 1 })
	s := told.Status.EphemeralContainerStatuses[0]
	if s.State.Terminated == nil || s.State.Terminated.Reason != reasonUnsupported || s.State.Terminated.FinishedAt.IsZero() || !first(told).Ready {
		t.Errorf("status = %+v", told.Status)
	}
	if _, err := l.node.streamTarget("space", "subject", "", "debugger"); err == nil || !strings.Contains(err.Error(), "kubectl exec") {
		t.Errorf("asked for its log: %v", err)
	}
}

func TestWhatIsNotEnforcedIsTold(t *testing.T) {
	l := newLab(t)
	l.add(pod("subject", "polite", func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = quantity("64Mi") }))
	if event := l.awaitEvent(reasonUnenforced); !strings.HasPrefix(event, corev1.EventTypeNormal) || !strings.Contains(event, "container main: limits") {
		t.Errorf("event %q", event)
	}
	l.awaitReady("subject")
}

func TestActiveDeadline(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr(int64(1)) })
	begun := time.Now()
	l.add(p)
	l.awaitEvent(reasonDeadline)
	failed := l.await("subject", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := failed.Status; s.Reason != reasonDeadline || s.Message != deadlineMessage || first(failed).State.Terminated == nil || time.Since(begun) < time.Second {
		t.Errorf("after %s: status = %+v", time.Since(begun), s)
	}
	l.awaitLog(p, 0, "terminated")
	l.delete("subject", -1)
	l.awaitGone("subject")
	l.awaitClean(p)
}

func TestLogOfTheRunBefore(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "exit", args("3"))
	l.add(p)
	// While it waits for its next run, the run before that is the last one, as with a kubelet.
	l.await("subject", "in back-off", func(p *corev1.Pod) bool {
		return first(p).RestartCount >= 1 && first(p).State.Waiting != nil
	})
	target, err := l.node.streamTarget("space", "subject", "", "main")
	if err != nil || target.PreviousLog == "" || target.PreviousLog != target.Log {
		t.Errorf("target %+v, %v", target, err)
	}
}

func TestLastWords(t *testing.T) {
	l := newLab(t)
	l.add(pod("subject", "exit", args("3"), policy(corev1.RestartPolicyNever), func(p *corev1.Pod) {
		p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}))
	failed := l.await("subject", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if s := first(failed).State.Terminated; s.Message != "exiting\n" {
		t.Errorf("terminated = %+v", s)
	}
}
