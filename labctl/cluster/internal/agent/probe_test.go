package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// look is one answer of a program, and when it is asked for.
type look struct {
	at      time.Duration
	success bool
}

type proberTest struct {
	kind    probeKind
	spec    corev1.Probe
	answers func(at time.Duration) bool
	until   time.Duration
	want    []look // what is told when a threshold is reached
	failed  int    // failures that are told, all in all
}

func TestProberTicks(t *testing.T) {
	s, ms := time.Second, time.Millisecond
	tests := map[string]proberTest{
		"ready at once": {
			kind: readiness, spec: corev1.Probe{PeriodSeconds: 5},
			answers: func(time.Duration) bool { return true }, until: 20 * s,
			want: []look{{0, true}},
		},
		"ready soon after the start": {
			kind: readiness, spec: corev1.Probe{PeriodSeconds: 5},
			answers: func(at time.Duration) bool { return at >= 50*ms }, until: 20 * s,
			want: []look{{60 * ms, true}},
		},
		"never ready": {
			kind: readiness, spec: corev1.Probe{PeriodSeconds: 5, FailureThreshold: 2},
			answers: func(time.Duration) bool { return false }, until: 11 * s,
			want: []look{{10 * s, false}}, failed: 2,
		},
		"falls and comes back": {
			kind: readiness, spec: corev1.Probe{PeriodSeconds: 1, FailureThreshold: 3, SuccessThreshold: 2},
			answers: func(at time.Duration) bool { return at < 5*s || at >= 20*s }, until: 30 * s,
			want: []look{{1 * s, true}, {7 * s, false}, {21 * s, true}}, failed: 15,
		},
		"initial delay": {
			kind: readiness, spec: corev1.Probe{PeriodSeconds: 1, InitialDelaySeconds: 7},
			answers: func(time.Duration) bool { return true }, until: 20 * s,
			want: []look{{7 * s, true}},
		},
		"liveness fails for good": {
			kind: liveness, spec: corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3},
			answers: func(at time.Duration) bool { return at < 15*s }, until: 100 * s,
			want: []look{{0, true}, {40 * s, false}}, failed: 3,
		},
		"liveness forgives one": {
			kind: liveness, spec: corev1.Probe{PeriodSeconds: 10, FailureThreshold: 2},
			answers: func(at time.Duration) bool { return at != 20*s }, until: 60 * s,
			want: []look{{0, true}, {30 * s, true}}, failed: 1,
		},
		"startup passes once": {
			kind: startup, spec: corev1.Probe{PeriodSeconds: 2, FailureThreshold: 5},
			answers: func(at time.Duration) bool { return at >= 3*s }, until: 60 * s,
			want: []look{{4 * s, true}}, failed: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test.run) })
	}
}

func (test proberTest) run(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), test.until)
	defer cancel()
	begin, failed := time.Now(), 0
	var got []look
	p := prober{
		kind: test.kind, spec: test.spec,
		check: func(context.Context, time.Duration) (bool, string) { return test.answers(time.Since(begin)), "" },
		tell: func(r probeResult) {
			if !r.success {
				failed++
			}
			if r.reached {
				got = append(got, look{time.Since(begin), r.success})
			}
		},
	}
	p.run(ctx, time.Duration(test.spec.InitialDelaySeconds)*time.Second)
	if !slices.Equal(got, test.want) || failed != test.failed {
		t.Errorf("told %v with %d failures, want %v with %d", got, failed, test.want, test.failed)
	}
}

func httpGet(path string) corev1.ProbeHandler {
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("web")}}
}

// serving is a pod that answers probes; each file in its TMPDIR makes the path of that name good.
func serving(change func(*corev1.Container)) *corev1.Pod {
	return pod("subject", "serve", args("$(POD_IP):18089"), func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Env = append(c.Env, fieldRef("POD_IP", "status.podIP"))
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 18089}}
		change(c)
	})
}

func (l *lab) good(p *corev1.Pod, name string, good bool) {
	l.Helper()
	path := filepath.Join(l.state, "s", "p", tempName(string(p.UID)), name)
	var err error
	if good {
		err = os.WriteFile(path, nil, 0o600)
	} else {
		err = os.Remove(path)
	}
	if err != nil {
		l.Fatal(err)
	}
}

func TestReadinessProbe(t *testing.T) {
	l := newLab(t)
	p := serving(func(c *corev1.Container) {
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: httpGet("/ready"), PeriodSeconds: 1, FailureThreshold: 1}
	})
	l.add(p)
	running := l.await("subject", "running", func(p *corev1.Pod) bool { return first(p).State.Running != nil })
	if first(running).Ready || isTrue(running.Status.Conditions, corev1.PodReady) {
		t.Errorf("ready before the probe says so: %+v", running.Status)
	}
	l.good(p, "ready", true)
	l.awaitReady("subject")
	l.good(p, "ready", false)
	l.awaitEvent("Unhealthy")
	l.await("subject", "not ready", func(p *corev1.Pod) bool { return !first(p).Ready && first(p).State.Running != nil })
}

func TestLivenessProbe(t *testing.T) {
	l := newLab(t)
	p := serving(func(c *corev1.Container) {
		c.LivenessProbe = &corev1.Probe{ProbeHandler: httpGet("/alive"), PeriodSeconds: 1, FailureThreshold: 1}
	})
	l.add(p)
	l.awaitReady("subject")
	l.good(p, "alive", true)
	select {
	case line := <-l.lines:
		if !strings.Contains(string(line), `"started"`) {
			t.Errorf("a container that is alive: %s", line)
		}
	case <-time.After(patience):
		t.Fatal("no start")
	}
	l.good(p, "alive", false)
	if end := l.awaitLine("exited", "subject"); *end.ExitCode != 0 {
		t.Errorf("ended with %d, want a SIGTERM", *end.ExitCode)
	}
	if event := l.awaitEvent("Killing"); !strings.Contains(event, "failed liveness probe, will be restarted") {
		t.Errorf("event %q", event)
	}
	l.await("subject", "restarted", func(p *corev1.Pod) bool { return first(p).RestartCount == 1 })
}

func TestStartupProbe(t *testing.T) {
	l := newLab(t)
	p := serving(func(c *corev1.Container) {
		c.StartupProbe = &corev1.Probe{ProbeHandler: httpGet("/up"), PeriodSeconds: 1, FailureThreshold: 30}
		c.LivenessProbe = &corev1.Probe{ProbeHandler: httpGet("/alive"), PeriodSeconds: 1, FailureThreshold: 1}
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(18089)}}, PeriodSeconds: 1}
	})
	l.add(p)
	l.awaitEvent("Unhealthy") // of the startup probe; the liveness probe has not begun, or it would kill
	if s := first(l.api.pod("space", "subject")); *s.Started || s.Ready || s.RestartCount != 0 {
		t.Errorf("status before the startup probe passes = %+v", s)
	}
	l.good(p, "alive", true)
	l.good(p, "up", true)
	l.await("subject", "started and ready", func(p *corev1.Pod) bool { return first(p).Ready && *first(p).Started })
}

func TestExecProbe(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "polite", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 1, ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo looked; test -e $TMPDIR/ready"}},
		}}
	})
	l.add(p)
	if event := l.awaitEvent("Unhealthy"); !strings.Contains(event, "looked") {
		t.Errorf("event %q", event)
	}
	l.good(p, "ready", true)
	l.awaitReady("subject")
}

func TestGRPCProbe(t *testing.T) {
	l := newLab(t)
	l.add(pod("subject", "polite", func(p *corev1.Pod) {
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9}}}
	}))
	if event := l.awaitEvent("Unhealthy"); !strings.Contains(event, "failed to connect service") {
		t.Errorf("event %q", event)
	}
	if s := first(l.api.pod("space", "subject")); s.Ready {
		t.Errorf("status = %+v", s)
	}
}
