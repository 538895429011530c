package gatelab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

// Options are of a flow: machines that are made one after the other while a cluster applies again and again.
type Options struct {
	Operations int           // Jobs in all, at least 2
	Every      time.Duration // a machine is made
	Seconds    int           // that the Job of a machine works
	// ClusterSeconds is how long a Job of the cluster works, and Rest how long its inputs stay as they are after it.
	ClusterSeconds int
	Rest           time.Duration
	Limit          time.Duration
}

// Flow makes the operations and judges the order in which they ran.
func (l *Lab) Flow(ctx context.Context, o Options) (Judgement, error) {
	if err := l.Clear(ctx); err != nil {
		return Judgement{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	seen, err := l.observe(watching)
	if err != nil {
		return Judgement{}, err
	}
	limited, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	err = l.flow(limited, o, seen)
	changes, lost := seen.all()
	judged := Judge(changes)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		l.Say(fmt.Sprintf("the limit of %s was reached after %d operations", o.Limit, judged.Operations))
		err = nil
	}
	return judged, errors.Join(err, lost)
}

// flow makes machines, and changes the cluster's inputs again and again, until all Jobs are done.
func (l *Lab) flow(ctx context.Context, o Options, seen *observer) error {
	ticker := time.NewTicker(o.Every)
	defer ticker.Stop()
	var f flow
	said := 0
	for {
		f.begun, f.finished, f.applied = seen.of(JobCreated, false), seen.of(JobFinished, false), seen.of(JobFinished, true)
		var err error
		switch f.next(o, time.Now()) {
		case allDone:
			return nil
		case turnCluster:
			err = l.put(ctx, gate.Cluster, clusterName, map[string]any{"inputs": fmt.Sprint("turn ", f.turns), "seconds": int64(o.ClusterSeconds)})
		case makeMachine:
			err = l.put(ctx, gate.Machine, fmt.Sprintf("m-%03d", f.machines), map[string]any{"inputs": "a", "seconds": int64(o.Seconds)})
		}
		if err != nil {
			return err
		}
		if f.begun/20 > said {
			said = f.begun / 20
			l.Say(fmt.Sprintf("%d of %d operations have begun", f.begun+f.turns, o.Operations))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flow is how far a flow has come.
type flow struct {
	machines, turns int       // that were asked for
	begun, finished int       // Jobs of machines that were seen
	applied         int       // Jobs of the cluster that were seen to end
	rested          time.Time // when the cluster's inputs change again; zero while it applies
}

type turn int

const (
	wait turn = iota
	makeMachine
	turnCluster
	allDone
)

// next returns what is to be done now, and counts it. The cluster applies first when a machine's Job is seen, then again o.Rest after
// each time. However fast machines are made, one of the operations is the cluster's.
func (f *flow) next(o Options, now time.Time) turn {
	total := f.machines + f.turns
	switch {
	case total >= o.Operations:
		if f.finished+f.applied >= total {
			return allDone
		}
		return wait
	case f.turns == 0 && f.begun > 0, f.turns > 0 && !f.rested.IsZero() && now.After(f.rested):
		f.turns, f.rested = f.turns+1, time.Time{}
		return turnCluster
	case f.turns == 0 && total == o.Operations-1:
		return wait
	case f.turns > 0 && f.turns == f.applied && f.rested.IsZero():
		f.rested = now.Add(o.Rest)
	}
	f.machines++
	return makeMachine
}

// Measured is what a gap, or the lease of a manager that was killed, lasted.
type Measured struct {
	// SinceRefreshSeconds is from when the lease was last taken or refreshed in the old name to when it was taken in the new one, by the
	// times in the lease; SinceChangeSeconds is from when the inputs were changed to when the new Job was seen.
	SinceRefreshSeconds float64 `json:"sinceRefreshSeconds"`
	SinceChangeSeconds  float64 `json:"sinceChangeSeconds"`
	OldJob              string  `json:"oldJob"` // the holder that never existed
	NewJob              string  `json:"newJob"`
}

// Gap measures the known gap: the inputs of a cluster change while it waits for a machine.
func (l *Lab) Gap(ctx context.Context) (Measured, error) {
	if err := l.Clear(ctx); err != nil {
		return Measured{}, err
	}
	if err := l.put(ctx, gate.Machine, "slow", map[string]any{"inputs": "a", "seconds": int64(20)}); err != nil {
		return Measured{}, err
	}
	if _, err := l.held(ctx, runLease(gate.Machine, "slow", l.Namespace), gate.Running); err != nil {
		return Measured{}, err
	}
	if err := l.put(ctx, gate.Cluster, clusterName, map[string]any{"inputs": "before", "seconds": int64(1)}); err != nil {
		return Measured{}, err
	}
	return l.outlive(ctx, gate.Cluster, clusterName, func(context.Context) error { return nil })
}

// Crash measures how long a lease outlives the manager that was killed between taking it and creating its Job, if the next one wants
// another Job. The manager must run with a pause before the Job.
func (l *Lab) Crash(ctx context.Context) (Measured, error) {
	kills, ok := l.Provider.(provider.Signaler)
	if !ok {
		return Measured{}, &provider.Problem{Err: fmt.Errorf("on %s nothing can kill a pod's process", l.Cluster.Provider), Hint: "labctl up --name gate --provider embedded"}
	}
	if err := l.Clear(ctx); err != nil {
		return Measured{}, err
	}
	if err := l.put(ctx, gate.Machine, "m", map[string]any{"inputs": "before", "seconds": int64(1)}); err != nil {
		return Measured{}, err
	}
	return l.outlive(ctx, gate.Machine, "m", func(ctx context.Context) error {
		pod, err := l.manager(ctx)
		if err != nil || pod == nil {
			return fmt.Errorf("find the manager: %w", errors.Join(err, errNoManager))
		}
		l.Say("killing the manager " + pod.name)
		_, err = kills.Kill(ctx, l.Cluster, pod.uid)
		return err
	})
}

var errNoManager = errors.New("no pod holds the leader Lease " + api.GateName)

// outlive waits until an object holds its lease without a Job, does something, changes the inputs, and measures until the new Job is there.
func (l *Lab) outlive(ctx context.Context, kind gate.Kind, name string, do func(context.Context) error) (m Measured, err error) {
	lease := runLease(kind, name, l.Namespace)
	old, err := l.held(ctx, lease, gate.Absent)
	if err != nil {
		return m, err
	}
	if err := do(ctx); err != nil {
		return m, err
	}
	if err := l.put(ctx, kind, name, map[string]any{"inputs": "after", "seconds": int64(1)}); err != nil {
		return m, err
	}
	changed, last := time.Now(), old
	err = l.await(ctx, 3*time.Minute, "the Job of the new inputs", func(ctx context.Context) (bool, error) {
		r, err := l.gate().Lease(ctx, lease)
		if err != nil {
			return false, ignoreAbsent(err)
		}
		if r.Holder == old.Holder {
			last = r
			return false, nil
		}
		if m.NewJob == "" { // later it may have been refreshed
			m.NewJob, m.SinceRefreshSeconds = r.Holder, r.Acquired.Sub(last.Acquired).Seconds()
		}
		state, err := l.gate().Job(ctx, r.Holder)
		return state != gate.Absent, err
	})
	m.OldJob, m.SinceChangeSeconds = old.Holder, time.Since(changed).Seconds()
	return m, err
}

// held waits until the lease has a holder whose Job is in that state.
func (l *Lab) held(ctx context.Context, lease string, want gate.State) (found gate.Record, err error) {
	err = l.await(ctx, time.Minute, "a holder of Lease "+lease, func(ctx context.Context) (bool, error) {
		if found, err = l.gate().Lease(ctx, lease); err != nil {
			return false, ignoreAbsent(err)
		}
		state, err := l.gate().Job(ctx, found.Holder)
		return state == want, err
	})
	return found, err
}

func runLease(kind gate.Kind, name, namespace string) string {
	return gate.Object{Kind: kind, Namespace: namespace, Name: name, ClusterName: clusterName}.RunLease()
}
