package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
)

// watch waits until the trial is complete, or the limit.
func (l *lane) watch(ctx context.Context, n int, limit time.Duration, mode fault.Description, s scene) error {
	until := time.Now().Add(over(mode, l.settings.Timing))
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	var tail, lag <-chan time.Time
	for {
		next := l.view.next()
		t := l.view.measure(n)
		if l.run.options.OnMeasure != nil {
			l.run.options.OnMeasure(t)
		}
		if tail == nil && l.concluded(t, mode, s) {
			tail = time.After(max(tailAfter, time.Until(until)))
		}
		if lag == nil && tail != nil && l.whole(t) && !mode.Silences && (!mode.LosesLease() || t.WorkedOnSeconds != nil) {
			lag = time.After(lagAfter)
		}
		select {
		case <-next:
		case <-look.C:
			if err := l.lab.lost(ctx); err != nil {
				return err
			}
		case <-lag:
			return nil
		case <-tail:
			return nil
		case <-deadline.C:
			return nil // the trial says itself what was not seen
		case err := <-l.observer.Failed():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// concluded reports whether the fault has led to what it leads to, and little more will come.
func (l *lane) concluded(t timeline.Trial, mode fault.Description, s scene) bool {
	switch {
	case mode.Kind == fault.OfReplicas && !l.view.replaced(s, l.replicas):
		return false
	case mode.Kind == fault.OfObject || l.lab.foreign != nil: // the fence may refuse the successor's work; of a foreign one it is not seen
		return t.Class != timeline.Unknown
	default:
		return t.Complete()
	}
}

// whole reports whether all that can be seen of a complete trial was seen.
func (l *lane) whole(t timeline.Trial) bool {
	_, gone := t.Instant(timeline.T3)
	_, leads := t.Instant(timeline.T6)
	_, audits := l.lab.Provider.(provider.Auditor)
	termed := t.Terms != nil || !audits || t.Class != timeline.Released && t.Class != timeline.Expired
	if l.lab.foreign != nil {
		return gone && termed // its logs tell nothing
	}
	return gone && leads && t.OverlapSeconds != nil && termed
}

// reachLimit is how long an API server that is away is waited for before a run: one that was killed is back within seconds.
const reachLimit = 30 * time.Second

// reach reads what runs, once the API server can be reached. Whatever else it answers is returned at once.
func (l *Lab) reach(ctx context.Context) (state replica.State, err error) {
	waited := l.wait(ctx, reachLimit, func(ctx context.Context) (bool, string, error) {
		var away *url.Error
		if state, err = l.state(ctx); errors.As(err, &away) {
			return false, "", err
		}
		return true, "", nil
	})
	return state, cmp.Or(waited, err)
}

// rescaled returns the error that somebody has given the operator another number of replicas, which no waiting mends.
func (l *lane) rescaled(ctx context.Context) error {
	state, err := l.lab.state(ctx)
	if err != nil || state.Replicas == l.replicas {
		return nil // an API server that is away is another one's matter
	}
	hint := fmt.Sprintf("labctl scale %d", l.replicas)
	if l.lab.foreign != nil {
		hint = fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=%d", l.lab.Deployment.Namespace, l.lab.Deployment.Name, l.replicas)
	}
	return &provider.Problem{Err: fmt.Errorf("the operator was scaled from %d to %d while it was measured", l.replicas, state.Replicas), Hint: hint}
}
