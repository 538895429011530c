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

// Flow makes the operations and judges the order in which they ran. The error is that the lab is gone, that the API server refuses
// something, or ctx's; whatever else keeps it from making all of them is in Judgement.Ended.
func (l *Lab) Flow(ctx context.Context, o Options) (Judgement, error) {
	if err := l.Clear(ctx); err != nil {
		return Judgement{}, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var seen *observer
	err := l.do(ctx, "the Jobs to be watched", func(context.Context) (err error) {
		seen, err = l.observe(watching)
		return err
	})
	if err != nil {
		return Judgement{}, err
	}
	ended, err := l.flow(ctx, o, seen)
	changes, unseen := seen.all()
	judged := Judge(changes)
	judged.Requested, judged.Ended, judged.Unseen = o.Operations, ended, unseen
	return judged, err
}

// lookEvery is how often a flow looks whether the lab is there still.
const lookEvery = time.Second

// flow makes machines, and changes the cluster's inputs again and again, until all Jobs are done, or says why it ended before.
func (l *Lab) flow(ctx context.Context, o Options, seen *observer) (ended string, err error) {
	limit, every, look := time.NewTimer(o.Limit), time.NewTicker(o.Every), time.NewTicker(lookEvery)
	defer limit.Stop()
	defer every.Stop()
	defer look.Stop()
	var f flow
	var do func(context.Context) error // what is to be done; what fails is tried again
	failed, said := "", 0
	for {
		select {
		case <-every.C:
			if do == nil {
				f.begun, f.finished, f.applied = seen.of(JobCreated, false), seen.of(JobFinished, false), seen.of(JobFinished, true)
				step := f.next(o, time.Now())
				if step == allDone {
					return "", nil
				}
				do = l.making(step, f, o)
			}
			if do != nil {
				if failed, err = l.attempt(ctx, do); err != nil {
					return "", err
				}
				if failed == "" {
					do = nil
				}
			}
			if f.begun/20 > said {
				said = f.begun / 20
				l.Say(fmt.Sprintf("%d of %d operations have begun", f.begun+f.turns, o.Operations))
			}
		case <-look.C:
			if err := l.lab.Lost(ctx); err != nil {
				return "", err
			}
		case <-seen.lost:
			return "the Jobs could not be watched any more", nil
		case <-limit.C:
			return fmt.Sprintf("the limit of %s was reached%s", o.Limit, failed), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// making is what a step does; nil if nothing.
func (l *Lab) making(step turn, f flow, o Options) func(context.Context) error {
	switch step {
	case turnCluster:
		return func(ctx context.Context) error {
			return l.put(ctx, gate.Cluster, clusterName, map[string]any{"inputs": fmt.Sprint("turn ", f.turns), "seconds": int64(o.ClusterSeconds)})
		}
	case makeMachine:
		return func(ctx context.Context) error {
			return l.put(ctx, gate.Machine, fmt.Sprintf("m-%03d", f.machines), map[string]any{"inputs": "a", "seconds": int64(o.Seconds)})
		}
	}
	return nil
}

// attempt does something, and returns how it failed if it may be tried again.
func (l *Lab) attempt(ctx context.Context, do func(context.Context) error) (failed string, err error) {
	if err = do(ctx); err == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if lost := l.lab.Lost(ctx); lost != nil {
		return "", lost
	}
	if refused(err) {
		return "", err
	}
	return "; the last request failed: " + err.Error(), nil
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
	if err := l.want(ctx, gate.Machine, "slow", map[string]any{"inputs": "a", "seconds": int64(20)}); err != nil {
		return Measured{}, err
	}
	if _, err := l.held(ctx, runLease(gate.Machine, "slow", l.Namespace), gate.Running); err != nil {
		return Measured{}, err
	}
	if err := l.want(ctx, gate.Cluster, clusterName, map[string]any{"inputs": "before", "seconds": int64(1)}); err != nil {
		return Measured{}, err
	}
	return l.outlive(ctx, gate.Cluster, clusterName, func(context.Context) error { return nil })
}

// Crash measures how long a lease outlives the manager that was killed between taking it and creating its Job, if the next one wants
// another Job. The manager must run with a pause before the Job.
func (l *Lab) Crash(ctx context.Context) (Measured, error) {
	kills, ok := l.lab.Provider.(provider.Signaler)
	if !ok {
		return Measured{}, &provider.Problem{Err: fmt.Errorf("on %s nothing can kill a pod's process", l.Cluster.Provider), Hint: "labctl up --name gate --provider embedded"}
	}
	if err := l.Clear(ctx); err != nil {
		return Measured{}, err
	}
	if err := l.want(ctx, gate.Machine, "m", map[string]any{"inputs": "before", "seconds": int64(1)}); err != nil {
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
	if err := l.want(ctx, kind, name, map[string]any{"inputs": "after", "seconds": int64(1)}); err != nil {
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
