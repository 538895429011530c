package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// silence is how long a holder is kept from being heard: until a standby leads for sure, and two seconds more.
func silence(t api.Timing) time.Duration {
	return gap.Silence(t)
}

// aftermath is how long after its fault a holder that was silenced may still work: until RenewDeadline after a freeze, and in
// a black hole that its release hangs in for RetryPeriod and twice RenewDeadline; and a while for its end to be seen.
func aftermath(t api.Timing) time.Duration {
	return max(silence(t), t.RetryPeriod+t.RenewDeadline) + t.RenewDeadline + 3*time.Second
}

// outage is how long the API server is stopped: until every leader must have given up, also one whose release hangs, and every
// standby must take the record for expired.
func outage(t api.Timing) time.Duration {
	return max(silence(t), t.RetryPeriod+2*t.RenewDeadline+2*time.Second)
}

// lasting is how long what the mode does lasts, unless it is ended sooner.
func lasting(d fault.Description, t api.Timing) time.Duration {
	switch d.Kind {
	case fault.OfServer:
		return outage(t)
	case fault.OfAnswers: // one more renewal is written
		return silence(t) + t.RetryPeriod
	}
	return silence(t)
}

// over is how long after its fault a trial may still tell something of the old leader.
func over(d fault.Description, t api.Timing) time.Duration {
	switch {
	case d.Kind == fault.OfAnswers:
		return aftermath(t) + t.RetryPeriod
	case d.Silences:
		return aftermath(t)
	case d.LosesLease(): // it works on until RenewDeadline after it has seen the loss
		return t.RetryPeriod + t.RenewDeadline + 3*time.Second
	case d.Kind == fault.OfServer:
		return outage(t)
	default:
		return 0
	}
}

// rolling is how much longer a rollout is waited for: each replica must start, and the one before it end.
func rolling(d fault.Description) time.Duration {
	if d.Kind == fault.OfReplicas {
		return time.Minute
	}
	return 0
}

// policyLimit is how long an admission policy may take to be in force: the API server looks for new ones once a second.
const policyLimit = 10 * time.Second

// endOutage lets the API server go on when it was away for long enough. The returned function waits for that, or gives it up
// with ctx.
func (l *lane) endOutage(ctx context.Context, d fault.Description, pod fault.Pod) (stop func()) {
	if d.Kind != fault.OfServer {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if sleep(ctx, outage(l.settings.Timing)) != nil {
			return // it is ended by restore
		}
		l.observer.Emit(timeline.Event{Kind: timeline.FaultEnded, Note: "the API server may go on"})
		l.restore(ctx, d.Mode, pod)
	}()
	return func() { <-ended }
}

// restoreLimit bounds the ending of a silence, which ends by itself anyway.
const restoreLimit = 5 * time.Second

// restore ends what a mode did, and reports whether it could.
func (l *lane) restore(ctx context.Context, mode fault.Mode, pod fault.Pod) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	err := l.target.Restore(ctx, mode, pod)
	if err != nil {
		l.say(err.Error())
	}
	return err == nil
}

// unfence lifts a fence that a mode left, or a Lease that was deleted by hand: no failover could be timed behind it.
func (l *lane) unfence(ctx context.Context) error {
	if found, err := l.lab.Deployment.LiftFence(ctx); found || err != nil {
		return err
	}
	err := l.lab.unfenced(ctx)
	var fenced *provider.Problem
	if !errors.As(err, &fenced) {
		return err
	}
	l.say(err.Error() + "; removing these marks, so that it can work")
	return l.lab.Deployment.ClearFence(ctx)
}

// tidyLimit bounds the search for what an earlier labctl left: a server that does not answer is another one's matter.
const tidyLimit = 3 * time.Second

// left says in words what a labctl that was killed left on the cluster: what its modes made, and lanes. remove asks for the end of the lanes
// and does not wait for it.
func (l *Lab) left(ctx context.Context) (left []string, remove func(context.Context) error) {
	left, undo := l.Deployment.Left(ctx)
	lanes, _ := l.lanes(ctx) // a server that does not answer is another one's matter
	names := staying(lanes)
	for _, name := range names {
		left = append(left, "the namespace "+name)
	}
	return left, func(ctx context.Context) error { return errors.Join(undo(ctx), l.dropNamespaces(ctx, names...)) }
}

// Tidy removes what a labctl that was killed left on the cluster, and returns a sentence about it; "" if there was
// nothing. While another labctl is at work nothing was left.
func (l *Lab) Tidy(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, tidyLimit)
	defer cancel()
	left, _ := l.left(ctx)
	if len(left) == 0 {
		return ""
	}
	release, err := alone(l.Cluster, "removing what an earlier labctl left")
	if err != nil {
		return ""
	}
	defer release()
	left, remove := l.left(ctx) // it may have been at work still
	if len(left) == 0 {
		return ""
	}
	said := "an earlier labctl was killed and left " + strings.Join(left, ", ")
	if err := remove(ctx); err != nil {
		return fmt.Sprintf("%s; removing it failed: %v", said, err)
	}
	return said + "; removed"
}
