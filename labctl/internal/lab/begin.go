package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/replica"
)

// slowAnswer is how long an answer of the API server takes at most while a start is judged: replicas need it as well.
const slowAnswer = 3 * time.Second

// begin waits until the replicas are ready, with a leader. How far they came is returned if they are not, at the limit; it is nil if they
// are. The error is that this was not seen.
func (l *Lab) begin(ctx context.Context, limit time.Duration) (*mutant.Begin, error) {
	var away error // what was in the way of an answer
	err := l.wait(ctx, limit, func(limited context.Context) (bool, string, error) {
		asked := time.Now()
		done, what, err := l.led(limited)
		switch took := time.Since(asked); {
		case err != nil && limited.Err() == nil:
			away = err
		case took > slowAnswer:
			away = cmp.Or(away, fmt.Errorf("an answer took more than %.1f s", slowAnswer.Seconds()))
		}
		return done, what, err
	})
	if !errors.Is(err, errGaveUp) {
		return nil, err
	}
	if away != nil {
		return nil, fmt.Errorf("whether its replicas start was not seen, since the API server did not always answer: %w", away)
	}
	state, err := l.state(ctx)
	if err != nil {
		return nil, err
	}
	lease, err := l.Lease(ctx, state.Settings.LeaseName)
	if err != nil {
		return nil, err
	}
	b := &mutant.Begin{Ready: state.Ready, Held: lease != nil && holdsOne(state.Pods, lease.Holder)}
	for _, pod := range state.Pods {
		b.Exit = max(b.Exit, lastExit(pod))
	}
	b.Why = fmt.Sprintf("after %s %d of %d replicas were ready%s", limit, state.Ready, state.Replicas, unready(state.Pods))
	if !b.Held {
		b.Why += ", and none held the Lease"
	}
	b.Log = l.lastLog(ctx, state)
	return b, nil
}

// lastExit is the exit code that a container of the pod last ended with; 0 if none ended.
func lastExit(pod corev1.Pod) (code int) {
	for _, c := range pod.Status.ContainerStatuses {
		for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			if s.Terminated != nil {
				code = max(code, int(s.Terminated.ExitCode))
			}
		}
	}
	return code
}

// Bounds of what is told of a program that did not start.
const (
	tailLines   = 100
	lastLines   = 3
	lineLetters = 300
)

// lastLog are the last lines that the newest replica that is not ready wrote, as a clause.
func (l *Lab) lastLog(ctx context.Context, state replica.State) string {
	for _, pod := range state.Pods {
		if replica.Ready(&pod) {
			continue
		}
		tail := int64(tailLines)
		options := &corev1.PodLogOptions{TailLines: &tail, Previous: lastExit(pod) != 0}
		text, err := l.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
		if err != nil {
			return fmt.Sprintf("; its log could not be read: %v", err)
		}
		return "; " + telling(string(text))
	}
	return ""
}

// telling picks the last lines of a log or, of a program that panicked, those before its trace.
func telling(text string) string {
	var said []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) > lineLetters {
			line = strings.ToValidUTF8(line[:lineLetters], "") + "…"
		}
		if line != "" {
			said = append(said, line)
		}
	}
	if i := slices.IndexFunc(said, func(l string) bool { return strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") }); i >= 0 {
		said = said[:i+1]
	}
	if len(said) == 0 {
		return "it wrote nothing"
	}
	return "its last lines: " + strings.Join(said[max(0, len(said)-lastLines):], " | ")
}
