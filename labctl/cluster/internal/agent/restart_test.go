package agent

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/cluster/internal/process"
)

func policy(p corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
}

func TestRestartPolicy(t *testing.T) {
	tests := map[string]struct {
		policy corev1.RestartPolicy
		code   string
		phase  corev1.PodPhase // "" if it is started again
		reason string
	}{
		"Always, 0":    {corev1.RestartPolicyAlways, "0", "", "Completed"},
		"Always, 3":    {corev1.RestartPolicyAlways, "3", "", "Error"},
		"OnFailure, 0": {corev1.RestartPolicyOnFailure, "0", corev1.PodSucceeded, "Completed"},
		"OnFailure, 3": {corev1.RestartPolicyOnFailure, "3", "", "Error"},
		"Never, 0":     {corev1.RestartPolicyNever, "0", corev1.PodSucceeded, "Completed"},
		"Never, 3":     {corev1.RestartPolicyNever, "3", corev1.PodFailed, "Error"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.add(pod("subject", "exit", args(test.code), policy(test.policy)))
			if test.phase == "" {
				p := l.await("subject", "started again", func(p *corev1.Pod) bool {
					return first(p).RestartCount == 1
				})
				last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
				if last == nil || last.Reason != test.reason {
					t.Errorf("last state = %+v, want reason %s", last, test.reason)
				}
				return
			}
			p := l.await("subject", string(test.phase), func(p *corev1.Pod) bool { return p.Status.Phase == test.phase })
			c := p.Status.ContainerStatuses[0]
			if c.RestartCount != 0 || c.State.Terminated == nil || c.State.Terminated.Reason != test.reason || c.Ready {
				t.Errorf("container status = %+v", c)
			}
		})
	}
}

func TestBackOff(t *testing.T) {
	l := newLab(t)
	l.add(pod("subject", "exit", args("3")))
	b := testTiming().backoff
	ended := l.awaitLine("exited", "subject").at(t)
	for i, want := range []time.Duration{b.Floor, b.First, b.Max, b.Max} {
		start := l.awaitLine("started", "subject")
		if wait := start.at(t).Sub(ended); !within(wait, want) {
			t.Errorf("restart %d after %s, want %s", i+1, wait, want)
		}
		if *start.RestartCount != int32(i+1) {
			t.Errorf("restart %d has count %d", i+1, *start.RestartCount)
		}
		ended = l.awaitLine("exited", "subject").at(t)
	}
	l.awaitEvent("BackOff")
	p := l.await("subject", "in back-off", func(p *corev1.Pod) bool {
		waiting := first(p).State.Waiting
		return waiting != nil && waiting.Reason == reasonBackOff
	})
	last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 3 || p.Status.Phase != corev1.PodRunning || isTrue(p.Status.Conditions, corev1.PodReady) {
		t.Errorf("status in back-off = %+v", p.Status)
	}
}

func TestKilledContainerComesBackInPlace(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite")
	l.add(p)
	before := l.awaitReady("subject")
	l.awaitLog(p, 0, "running")
	proc := l.node.worker(string(p.UID)).shown.Load().process("")
	if err := proc.Signal(9); err != nil {
		t.Fatal(err)
	}
	ended := l.awaitLine("exited", "subject")
	again := l.awaitLine("started", "subject")
	if ended.Signal != "SIGKILL" || !within(again.at(t).Sub(ended.at(t)), testTiming().backoff.Floor) {
		t.Errorf("ended %+v, started %+v", ended, again)
	}
	after := l.await("subject", "ready again", func(p *corev1.Pod) bool {
		return first(p).RestartCount == 1 && isTrue(p.Status.Conditions, corev1.PodReady)
	})
	last := after.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 137 || last.Reason != "Error" {
		t.Errorf("last state = %+v", last)
	}
	if after.UID != before.UID || after.Status.PodIP != before.Status.PodIP {
		t.Errorf("pod changed from %+v to %+v", before.Status, after.Status)
	}
	if text := l.awaitLog(p, 0, "running"); strings.Contains(text, "terminated") {
		t.Errorf("log of the killed run: %q", text)
	}
	l.awaitLog(p, 1, "running")
}

func TestRestartWhileTheServerIsDown(t *testing.T) {
	l := newLab(t)
	for _, object := range around() {
		if err := l.api.Tracker().Add(object); err != nil {
			t.Fatal(err)
		}
	}
	p := pod("subject", "show", func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, configKey("A", "config", "color", false))
	})
	l.add(p)
	l.awaitReady("subject")
	l.awaitLog(p, 0, " dir ")
	l.api.setDown(true)
	if err := l.node.worker(string(p.UID)).shown.Load().process("").Signal(9); err != nil {
		t.Fatal(err)
	}
	shown := l.awaitLog(p, 1, " dir ")
	for _, want := range []string{" env A=blue\n", " env WEB_SERVICE_HOST=10.0.0.9\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("environment lacks %q: %s", want, shown)
		}
	}
	l.api.setDown(false)
	l.await("subject", "told of the restart", func(p *corev1.Pod) bool { return first(p).RestartCount == 1 && first(p).Ready })
}

func TestNoRestartOfATerminatingPod(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "deaf")
	l.add(p)
	l.awaitReady("subject")
	l.awaitLog(p, 0, "running")
	l.delete("subject", 30)
	proc := l.node.worker(string(p.UID)).shown.Load().process("")
	if err := proc.Signal(9); err != nil {
		t.Fatal(err)
	}
	l.awaitGone("subject")
	l.awaitClean(p)
	select {
	case line := <-l.lines:
		if !strings.Contains(string(line), `"exited"`) && !strings.Contains(string(line), `"restartCount":0`) {
			t.Errorf("after the delete: %s", line)
		}
	default:
	}
}

func TestReadyFallsWithTheProcess(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite")
	l.add(p)
	ready := l.awaitReady("subject")
	proc := l.node.worker(string(p.UID)).shown.Load().process("")
	if err := proc.Signal(9); err != nil {
		t.Fatal(err)
	}
	down := l.await("subject", "not ready", func(p *corev1.Pod) bool {
		return first(p).State.Terminated != nil && !isTrue(p.Status.Conditions, corev1.PodReady)
	})
	if down.Status.ContainerStatuses[0].Ready || down.Status.Phase != corev1.PodRunning {
		t.Errorf("status = %+v", down.Status)
	}
	since := func(p *corev1.Pod, kind corev1.PodConditionType) metav1.Time {
		for _, c := range p.Status.Conditions {
			if c.Type == kind {
				return c.LastTransitionTime
			}
		}
		return metav1.Time{}
	}
	if a, b := since(ready, corev1.PodInitialized), since(down, corev1.PodInitialized); !a.Equal(&b) {
		t.Errorf("transition time of an unchanged condition moved from %s to %s", a, b)
	}
}

func TestAgentComesBack(t *testing.T) {
	tests := map[string]struct {
		policy corev1.RestartPolicy
		phase  corev1.PodPhase
	}{
		"Always": {corev1.RestartPolicyAlways, corev1.PodRunning},
		"Never":  {corev1.RestartPolicyNever, corev1.PodFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			p := pod("subject", "polite", policy(test.policy))
			l.add(p)
			before := l.awaitReady("subject")
			l.stop()
			l.run(time.Hour) // bound long ago, so this is not waited for
			after := l.await("subject", "taken up again", func(p *corev1.Pod) bool {
				c := first(p)
				return p.Status.Phase == test.phase && (c.RestartCount == 1) == (test.phase == corev1.PodRunning)
			})
			c := after.Status.ContainerStatuses[0]
			ended := c.LastTerminationState.Terminated
			if test.phase != corev1.PodRunning {
				ended = c.State.Terminated
			} else if after.Status.PodIP != before.Status.PodIP {
				t.Errorf("address moved from %s to %s", before.Status.PodIP, after.Status.PodIP)
			}
			if ended == nil || ended.ExitCode != 137 || ended.ContainerID != before.Status.ContainerStatuses[0].ContainerID {
				t.Errorf("end of the earlier run = %+v", ended)
			}
		})
	}
}

func TestAddressIsReplacedWhenTaken(t *testing.T) {
	p := pod("subject", "polite", func(p *corev1.Pod) {
		p.Status.PodIP, p.Status.PodIPs = "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
	})
	l := newLab(t, p)
	ready := l.awaitReady("subject")
	if len(ready.Status.PodIPs) != 1 || ready.Status.PodIPs[0].IP != ready.Status.PodIP || ready.Status.PodIP == "10.0.0.1" {
		t.Errorf("addresses = %s, %v", ready.Status.PodIP, ready.Status.PodIPs)
	}
}

func TestLeftoversOfPodsThatAreGone(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite")
	l.add(p)
	l.awaitReady("subject")
	l.stop()
	if err := l.api.Tracker().Delete(podResource(), "space", "subject"); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Sweep(l.node.podsDir()); err != nil {
		t.Fatal(err)
	}
	l.run(0)
	l.awaitClean(p)
}
