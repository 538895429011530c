package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

// Scale runs another number of replicas and waits until one of them leads. It is refused while another labctl is at work.
func (l *Lab) Scale(ctx context.Context, replicas int) error {
	release, err := alone(l.Cluster, "scaling the operator")
	if err != nil {
		return err
	}
	defer release()
	if err := l.Deployment.Scale(ctx, replicas); err != nil {
		return err
	}
	return l.WaitLed(ctx)
}

// Set changes the operator's settings and waits until the replicas run with them and one leads. It is refused while another
// labctl is at work.
func (l *Lab) Set(ctx context.Context, change replica.Change) (replica.Changed, error) {
	release, err := alone(l.Cluster, "changing the operator's settings")
	if err != nil {
		return replica.Changed{}, err
	}
	defer release()
	return l.set(ctx, change)
}

// set is Set for a caller that is alone already.
func (l *Lab) set(ctx context.Context, change replica.Change) (replica.Changed, error) {
	if change.Election != nil && *change.Election == api.ElectionCoordinated {
		state, err := l.state(ctx)
		if err == nil {
			err = l.coordinates(ctx, state.Settings, change.On(state.Settings))
		}
		if err != nil {
			return replica.Changed{}, err
		}
	}
	done, err := l.Deployment.Set(ctx, change)
	if err != nil || len(done.Differences) == 0 {
		return done, err
	}
	l.Say(fmt.Sprintf("setting %s; Kubernetes rolls the replicas over", done))
	err = l.waitLed(ctx, rolloutLimit+max(takeover(done.Before.Timing), takeover(done.After.Timing)))
	if errors.Is(err, errGaveUp) {
		return done, &provider.Problem{Err: fmt.Errorf("the operator does not come up with its new settings (%s): %w", done, err), Hint: done.Back}
	}
	return done, err
}

// takeover is how long the Lease of a holder that did not release it can stay without a successor.
func takeover(t api.Timing) time.Duration { return t.LeaseDuration + 5*t.RetryPeriod }

// alone keeps a second labctl from the operator while this one measures or changes it: the two would spoil each other's
// work. doing is what the other is told. Nothing is left if this labctl is killed.
func alone(cluster provider.Cluster, doing string) (release func(), err error) {
	f, err := os.OpenFile(filepath.Join(cluster.StateDir, "failover.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep others from the operator: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		other, _ := io.ReadAll(f)
		f.Close()
		hint := "labctl watch"
		if strings.Contains(string(other), "gate") {
			hint = "labctl gate status"
		}
		return nil, &provider.Problem{Err: fmt.Errorf("another labctl is %s", cmp.Or(string(other), "at work on this lab")), Hint: hint}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteString(doing)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("keep others from the operator: %w", err)
	}
	return func() { f.Close() }, nil
}
