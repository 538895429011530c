package agent

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"academy.example/lab/labctl/cluster/internal/process"
)

type probeKind string

const (
	readiness probeKind = "Readiness"
	liveness  probeKind = "Liveness"
	startup   probeKind = "Startup"
)

const (
	// firstLook is the wait after a first failed look at a program that has just been started; it doubles until the
	// probe's period is over. A kubelet looks again early too, with each sync of the pod.
	firstLook = 20 * time.Millisecond
	// startTime is how long a program may take to answer its first liveness probe before that counts as failed.
	startTime = time.Second
	// longestOutput is how much of an exec probe's output goes into an event.
	longestOutput = 1 << 10
)

// probeResult is what a probe tells the worker: a failure to report, or that a threshold is reached.
type probeResult struct {
	kind    probeKind
	success bool
	reached bool // as often in a row as the threshold asks
	message string
}

// prober looks at one running container again and again.
type prober struct {
	kind  probeKind
	spec  corev1.Probe
	check func(ctx context.Context, timeout time.Duration) (success bool, message string)
	tell  func(probeResult)
}

// probe starts the probes of a container that has just been started, or has just passed its startup probe.
func (c *container) probe(w *worker) {
	if !c.started {
		c.look(w, startup, c.spec.StartupProbe)
		return
	}
	c.look(w, readiness, c.spec.ReadinessProbe)
	c.look(w, liveness, c.spec.LivenessProbe)
}

func (c *container) look(w *worker, kind probeKind, spec *corev1.Probe) {
	if spec == nil {
		return
	}
	proc, ctx := c.proc, c.ctx
	p := prober{kind: kind, spec: *spec, check: c.checker(w, spec)}
	p.tell = func(r probeResult) { w.send(probed{c, proc, r}) }
	delay := time.Duration(spec.InitialDelaySeconds)*time.Second - time.Since(proc.Started())
	w.node.wg.Go(func() { p.run(ctx, max(delay, 0)) })
}

// checker is one look, by the means the probe asks for.
func (c *container) checker(w *worker, spec *corev1.Probe) func(context.Context, time.Duration) (bool, string) {
	ip, container := w.ip, c.spec
	launch := c.current
	switch {
	case spec.HTTPGet != nil:
		web := httpprobe.New(false)
		return func(_ context.Context, timeout time.Duration) (bool, string) {
			request, err := httpprobe.NewRequestForHTTPGetAction(spec.HTTPGet, &container, ip, "probe")
			if err != nil {
				return false, err.Error()
			}
			if deref(spec.HTTPGet.Protocol) == corev1.HTTPProtocolHTTP2 {
				return judge(web.ProbeH2C(request, timeout))
			}
			return judge(web.Probe(request, timeout))
		}
	case spec.TCPSocket != nil:
		host := spec.TCPSocket.Host
		if host == "" {
			host = ip
		}
		return func(_ context.Context, timeout time.Duration) (bool, string) {
			port, err := probe.ResolveContainerPort(spec.TCPSocket.Port, &container)
			if err != nil {
				return false, err.Error()
			}
			return judge(tcpprobe.New().Probe(host, port, timeout))
		}
	case spec.GRPC != nil:
		return func(_ context.Context, timeout time.Duration) (bool, string) {
			options := grpcprobe.ProbeOptions{UseTLS: deref(spec.GRPC.Mode) == corev1.GRPCProbeModeTLS}
			return judge(grpcprobe.New().Probe(ip, deref(spec.GRPC.Service), int(spec.GRPC.Port), timeout, options))
		}
	default:
		return func(ctx context.Context, timeout time.Duration) (bool, string) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			run := launch.spec
			run.Path, run.Args = launch.find(spec.Exec.Command[0]), spec.Exec.Command[1:]
			out := &tailBuffer{}
			run.Stdout, run.Stderr = out, out
			exit, err := process.Run(ctx, run)
			switch {
			case err != nil:
				return false, err.Error()
			case ctx.Err() != nil:
				return false, fmt.Sprintf("command timed out after %s", timeout)
			default:
				return exit.Code == 0, string(out.text)
			}
		}
	}
}

func judge(result probe.Result, message string, err error) (bool, string) {
	if err != nil {
		return false, err.Error()
	}
	return result == probe.Success || result == probe.Warning, message
}

// tailBuffer keeps the first part of an output.
type tailBuffer struct{ text []byte }

// Write takes all and keeps what has room.
func (b *tailBuffer) Write(data []byte) (int, error) {
	b.text = append(b.text, data[:min(len(data), longestOutput-len(b.text))]...)
	return len(data), nil
}

// run looks once per period until ctx ends, the first time after delay; while a program that has just started does not
// answer yet, it looks more often without counting the failures.
func (p *prober) run(ctx context.Context, delay time.Duration) {
	period := time.Duration(max(p.spec.PeriodSeconds, 1)) * time.Second
	timeout := time.Duration(max(p.spec.TimeoutSeconds, 1)) * time.Second
	need := map[bool]int32{true: max(p.spec.SuccessThreshold, 1), false: p.spec.FailureThreshold}
	if need[false] == 0 {
		need[false] = 3
	}
	early, eager := firstLook, true
	last, row := false, int32(0)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	next := time.Now().Add(delay + period)
	patience := time.Now().Add(delay + min(period, startTime))
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		success, message := p.check(ctx, timeout)
		if ctx.Err() != nil {
			return // the program is gone, so the answer means nothing
		}
		now := time.Now()
		if !now.Before(next) {
			next = next.Add((now.Sub(next)/period + 1) * period)
			eager = false
		} else if p.kind == liveness && now.After(patience) {
			eager = false
		}
		if success || !eager {
			eager = false
			if success != last {
				last, row = success, 0
			}
			row++
			p.tell(probeResult{p.kind, success, row == need[success], message})
			if row == need[success] && (p.kind == startup || p.kind == liveness && !success) {
				return
			}
			timer.Reset(time.Until(next))
			continue
		}
		timer.Reset(min(early, time.Until(next)))
		early *= 2
	}
}

// probed takes a probe's result for the run of the container that it looked at.
func (c *container) probed(w *worker, m probed) {
	if c.proc == nil || c.proc != m.proc || c.ending {
		return
	}
	r := m.result
	if !r.success {
		w.event(c, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %s", r.kind, r.message))
	}
	if !r.reached {
		return
	}
	switch {
	case r.kind == readiness:
		c.ready = r.success
	case r.kind == startup && r.success:
		c.started = true
		c.probe(w)
	case !r.success:
		spec, name := c.spec.LivenessProbe, "liveness"
		if r.kind == startup {
			spec, name = c.spec.StartupProbe, "startup"
		}
		grace := w.grace()
		if spec.TerminationGracePeriodSeconds != nil {
			grace = time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
		}
		c.stop(w, max(grace, w.node.timing.minGrace), fmt.Sprintf("Container %s failed %s probe, will be restarted", c.spec.Name, name))
	}
}

// grace is what the pod's spec grants to a container that is asked to end.
func (w *worker) grace() time.Duration {
	if seconds := w.pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
		return time.Duration(*seconds) * time.Second
	}
	return 30 * time.Second
}
