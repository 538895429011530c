package providertest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"academy.example/lab/labctl/internal/provider"
)

// cases is the suite: each name is a sentence about every place.
var cases = []struct {
	name    string
	signals bool // needs a Signaler
	bare    bool // needs more than a Deployment in a namespace: pods of its own, Services, Secrets
	run     func(*pods)
}{
	{"a pod runs and its status tells so", false, false, start},
	{"a graceful delete sends SIGTERM and the object goes when the process has", false, false, graceful},
	{"a process that ignores SIGTERM is killed after its grace", false, false, deaf},
	{"a second delete with a shorter grace ends the pod within its first grace at the latest", false, false, shortened},
	{"a forced delete removes the object at once and still sends SIGTERM", false, false, forced},
	{"a forced delete of a process that ignores SIGTERM kills it after two seconds", false, false, forcedDeaf},
	{"a forced delete after a graceful one ends the process within its first grace at the latest", false, false, forcedAfterGraceful},
	{"a killed container comes back in the same pod", true, false, killed},
	{"a terminating pod is not started again", true, false, noRestart},
	{"a pod that is not there can't be killed", true, false, nobody},
	{"the restart policy decides by the exit code", false, true, policies},
	{"a container that keeps ending is started less and less often", false, false, backOff},
	{"the log of the run before stays readable", false, false, previous},
	{"the program sees the environment that the pod asks for", false, true, environment},
	{"a pod is ready when its probe says so", false, false, readiness},
	{"a failed liveness probe restarts the container", false, false, liveness},
	{"exec runs a program beside the container's and tells its exit code", false, false, execute},
	{"an image that nobody has keeps the pod waiting", false, false, noImage},
	{"the requests on a Lease are told", false, false, requests},
}

var (
	polite   = []string{"polite"}
	ignoring = []string{"deaf"}
)

func start(p *pods) {
	made := time.Now()
	pod, started := p.running("start", polite)
	p.figure("created to process", started.Sub(made))
	s, c := pod.Status, first(pod)
	if s.Phase != corev1.PodRunning || s.PodIP == "" || len(s.PodIPs) != 1 || s.HostIP == "" || s.StartTime == nil {
		p.Errorf("status = %+v", s)
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		if !isTrue(pod, kind) {
			p.Errorf("condition %s is not true: %+v", kind, s.Conditions)
		}
	}
	if c.State.Running == nil || !c.Ready || c.Started == nil || !*c.Started || c.RestartCount != 0 || c.ContainerID == "" {
		p.Errorf("container status = %+v", c)
	}
	if e, told := p.event(pod, true, 0); told && (e.Pod != pod.Name || e.PID < 2 || e.At.Before(made) || e.At.After(time.Now())) {
		p.Errorf("the node tells of the start: %+v", e)
	}
}

// slack is how much later than due a thing may be: a kubelet took 4.9 s more than the 10 s of the second back-off.
const slack = 6 * time.Second

func (p *pods) within(what string, d, low, high time.Duration) {
	p.Helper()
	p.figure(what, d)
	if d < low-50*time.Millisecond || d > high+slack {
		p.Errorf("%s: %s, want %s to %s", what, d, low, high+slack)
	}
}

// ownGrace is a pod's grace if it names none. A kubelet may wait for all of it although a later delete wants it shorter.
const ownGrace = 30 * time.Second

func (p *pods) between(what string, d, low time.Duration) {
	p.Helper()
	p.within(what, d, low, low)
}

func graceful(p *pods) {
	pod, _ := p.running("graceful", polite)
	log := p.log(pod)
	log.stamp("running")
	asked := p.delete(pod.Name, -1)
	p.between("graceful: delete to SIGTERM", log.stamp("terminated").Sub(asked), 0)
	p.between("graceful: delete to object gone", p.awaitGone(pod.Name).Sub(asked), 0)
	p.end(pod, 0, 0)
}

func deaf(p *pods) {
	pod, _ := p.running("deaf", ignoring)
	asked := p.delete(pod.Name, 2)
	if ended := p.end(pod, 0, 137); !ended.IsZero() {
		p.between("SIGTERM ignored, grace 2 s: delete to end", ended.Sub(asked), 2*time.Second)
	}
	p.between("SIGTERM ignored, grace 2 s: delete to object gone", p.awaitGone(pod.Name).Sub(asked), 2*time.Second)
}

func shortened(p *pods) {
	pod, _ := p.running("shortened", ignoring)
	p.delete(pod.Name, -1)
	time.Sleep(500 * time.Millisecond)
	again := p.delete(pod.Name, 1)
	gone := p.awaitGone(pod.Name)
	p.within("second delete with grace 1 s, SIGTERM ignored: to object gone", gone.Sub(again), time.Second, ownGrace)
	p.end(pod, 0, 137)
}

func forced(p *pods) {
	pod, _ := p.running("forced", polite)
	log := p.log(pod)
	log.stamp("running")
	asked := p.delete(pod.Name, 0)
	if now := p.get(pod.Name); now != nil && now.UID == pod.UID {
		p.Error("the object outlives a forced delete")
	}
	if ended := p.end(pod, 0, 0); !ended.IsZero() {
		p.between("forced: delete to end after SIGTERM", ended.Sub(asked), 0)
		return
	}
	p.between("forced: delete to SIGTERM", log.stamp("terminated").Sub(asked), 0) // the log may be all there is to see it by
}

func forcedDeaf(p *pods) {
	pod, _ := p.running("forced-deaf", ignoring)
	asked := p.delete(pod.Name, 0)
	if ended := p.end(pod, 0, 137); !ended.IsZero() {
		p.between("forced, SIGTERM ignored: delete to SIGKILL", ended.Sub(asked), 2*time.Second)
	}
}

func forcedAfterGraceful(p *pods) {
	pod, _ := p.running("forced-late", ignoring)
	p.delete(pod.Name, -1)
	time.Sleep(500 * time.Millisecond)
	asked := p.delete(pod.Name, 0)
	if ended := p.end(pod, 0, 137); !ended.IsZero() {
		p.within("forced after graceful, SIGTERM ignored: to SIGKILL", ended.Sub(asked), 2*time.Second, ownGrace)
	}
}

func killed(p *pods) {
	before, _ := p.running("killed", polite)
	asked := time.Now()
	exit, err := p.signaler.Kill(p.Context(), p.Cluster, string(before.UID))
	if err != nil {
		p.Fatal(err)
	}
	p.figure("kill: asked to reaped", time.Since(asked))
	if exit.PID < 2 || exit.ExitCode != 137 {
		p.Errorf("Kill tells %+v", exit)
	}
	p.await("killed", "not ready while it is away", func(pod *corev1.Pod) bool { return !ready(pod) || first(pod).RestartCount == 1 })
	after := p.await("killed", "ready again", func(pod *corev1.Pod) bool { return ready(pod) && first(pod).RestartCount == 1 })
	last := first(after).LastTerminationState.Terminated
	if last == nil || last.ExitCode != 137 || last.Reason != "Error" {
		p.Errorf("last state = %+v", last)
	}
	if after.UID != before.UID || after.Status.PodIP != before.Status.PodIP {
		p.Errorf("the pod changed from %s %s to %s %s", before.UID, before.Status.PodIP, after.UID, after.Status.PodIP)
	}
	again := p.log(after).stamp("running")
	p.between("killed: SIGKILL to the next process", again.Sub(asked), 0)
	if ended := p.end(after, 0, 137); !ended.IsZero() && ended.Before(asked) {
		p.Errorf("ended at %s, killed at %s", ended, asked)
	}
	p.event(after, true, 1)
}

func noRestart(p *pods) {
	pod, _ := p.running("terminating", ignoring)
	asked := p.delete(pod.Name, 30)
	time.Sleep(300 * time.Millisecond)
	if _, err := p.signaler.Kill(p.Context(), p.Cluster, string(pod.UID)); err != nil {
		p.Fatal(err)
	}
	p.between("killed while terminating: delete to object gone", p.awaitGone(pod.Name).Sub(asked), 0)
	if p.processes == nil {
		return
	}
	p.end(pod, 0, 137)
	p.processes.mu.Lock()
	defer p.processes.mu.Unlock()
	for _, e := range p.processes.events {
		if e.UID == string(pod.UID) && e.Restarts > 0 {
			p.Errorf("it was started again: %+v", e)
		}
	}
}

func nobody(p *pods) {
	if _, err := p.signaler.Kill(p.Context(), p.Cluster, "00000000-0000-0000-0000-000000000000"); !errors.Is(err, provider.ErrNotRunning) {
		p.Errorf("got %v, want an error that wraps ErrNotRunning", err)
	}
}

func policies(p *pods) {
	var together sync.WaitGroup
	for _, c := range []policyTest{
		{corev1.RestartPolicyAlways, "0", "", "Completed"},
		{corev1.RestartPolicyAlways, "3", "", "Error"},
		{corev1.RestartPolicyOnFailure, "0", corev1.PodSucceeded, "Completed"},
		{corev1.RestartPolicyOnFailure, "3", "", "Error"},
		{corev1.RestartPolicyNever, "0", corev1.PodSucceeded, "Completed"},
		{corev1.RestartPolicyNever, "3", corev1.PodFailed, "Error"},
	} {
		together.Go(func() {
			p.Run(fmt.Sprintf("%s, %s", c.policy, c.code), func(t *testing.T) {
				c.run(&pods{T: t, suite: p.suite})
			})
		})
	}
	together.Wait()
}

// policyTest is what becomes of a container that ends with a code.
type policyTest struct {
	policy corev1.RestartPolicy
	code   string
	phase  corev1.PodPhase // "" if it is started again
	reason string
}

func (c policyTest) run(p *pods) {
	name := "policy-" + strings.ToLower(string(c.policy)) + "-" + c.code
	p.add(name, []string{"exit", c.code}, func(pod *corev1.Pod) { pod.Spec.RestartPolicy = c.policy })
	if c.phase == "" {
		pod := p.await(name, "started again", func(pod *corev1.Pod) bool { return first(pod).RestartCount >= 1 })
		if last := first(pod).LastTerminationState.Terminated; last == nil || last.Reason != c.reason || fmt.Sprint(last.ExitCode) != c.code {
			p.Errorf("last state = %+v, want reason %s", last, c.reason)
		}
		return
	}
	pod := p.await(name, string(c.phase), func(pod *corev1.Pod) bool { return pod.Status.Phase == c.phase })
	if s := first(pod); s.RestartCount != 0 || s.State.Terminated == nil || s.State.Terminated.Reason != c.reason || s.Ready {
		p.Errorf("container status = %+v", s)
	}
}

func backOff(p *pods) {
	pod := p.add("back-off", []string{"exit", "3"})
	waiting := p.await("back-off", "in back-off", func(pod *corev1.Pod) bool {
		w := first(pod).State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff"
	})
	if last := first(waiting).LastTerminationState.Terminated; last == nil || last.ExitCode != 3 || waiting.Status.Phase != corev1.PodRunning || ready(waiting) {
		p.Errorf("status in back-off = %+v", waiting.Status)
	}
	p.await("back-off", "started a third time", func(pod *corev1.Pod) bool { return first(pod).RestartCount >= 2 })
	for restarts, low := range []time.Duration{0, 10 * time.Second} {
		ended, told := p.event(pod, false, restarts)
		if !told {
			return
		}
		again, _ := p.event(pod, true, restarts+1)
		p.between(fmt.Sprintf("back-off: end to restart %d", restarts+1), again.At.Sub(ended.At), low)
	}
}

func previous(p *pods) {
	pod := p.add("previous", []string{"exit", "1"})
	p.await("previous", "started again", func(pod *corev1.Pod) bool { return first(pod).RestartCount == 1 })
	// A kubelet keeps one dead container: between two lives there may be none to read for a moment.
	var text []byte
	var err error
	for deadline := time.Now().Add(previousLimit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if text, err = p.client.CoreV1().Pods(p.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Previous: true}).DoRaw(p.Context()); err == nil && strings.Count(string(text), "running") == 1 {
			return
		}
	}
	p.Errorf("the log of the run before is %q (%v)", text, err)
}

// previousLimit is longer than the first back-off of a container that fails, after which it is dead again.
const previousLimit = 15 * time.Second

func noImage(p *pods) {
	p.add("no-image", polite, func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Image, pod.Spec.Containers[0].ImagePullPolicy = "academy.example/nobody-has-this:lab", corev1.PullNever
	})
	pod := p.await("no-image", "waiting for its image", func(pod *corev1.Pod) bool {
		w := first(pod).State.Waiting
		return w != nil && strings.Contains(w.Reason, "Image")
	})
	if pod.Status.Phase != corev1.PodPending {
		p.Errorf("phase %s", pod.Status.Phase)
	}
}

func httpProbe(path string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1, FailureThreshold: 2}
}

func readiness(p *pods) {
	p.add("readiness", []string{"serve"}, func(pod *corev1.Pod) { pod.Spec.Containers[0].ReadinessProbe = httpProbe("/late") })
	up := p.await("readiness", "running", func(pod *corev1.Pod) bool { return first(pod).State.Running != nil })
	p.awaitReady("readiness")
	p.between("readiness: process to ready (2 s until the probe passes)", time.Since(p.log(up).stamp("running")), 2*time.Second)
}

func liveness(p *pods) {
	p.add("liveness", []string{"serve"}, func(pod *corev1.Pod) { pod.Spec.Containers[0].LivenessProbe = httpProbe("/early") })
	pod := p.await("liveness", "restarted", func(pod *corev1.Pod) bool { return first(pod).RestartCount == 1 })
	if last := first(pod).LastTerminationState.Terminated; last == nil || last.ExitCode != 0 {
		p.Errorf("last state = %+v, want an orderly end after SIGTERM", last)
	}
	if p.Namespace != "" {
		return // its rights do not hold events
	}
	found := map[string]bool{}
	for deadline := time.Now().Add(patience); len(found) < 2 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		events, err := p.client.CoreV1().Events(p.namespace).List(p.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=liveness"})
		if err != nil {
			p.Fatal(err)
		}
		for _, e := range events.Items {
			if e.Reason == "Unhealthy" || e.Reason == "Killing" {
				found[e.Reason] = true
			}
		}
	}
	if len(found) < 2 {
		p.Errorf("events %v, want Unhealthy and Killing", found)
	}
}
