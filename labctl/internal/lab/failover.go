package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Options says which failovers to time.
type Options struct {
	Modes  []fault.Mode
	Trials int // of each mode
	// Timing is what the operator is to run with; nil leaves it as it is.
	Timing *api.Timing
	// Seed draws the phases; the same seed draws the same ones.
	Seed    uint64
	RunsDir string
	Version string // of labctl, for the record
	// OnTrial is called after each trial. It may be nil.
	OnTrial func(n, of int, t timeline.Trial)
}

// settleLimit bounds the waiting before a trial beside the timing's own share.
const settleLimit = 2 * time.Minute

// Failover times failovers, one after the other: settle, wait a random phase, do it, watch, record. The report holds the
// trials that were completed, also when an error ends the run early.
func (l *Lab) Failover(ctx context.Context, options Options) (report.Failover, error) {
	alone, err := measureAlone(l.Cluster)
	if err != nil {
		return report.Failover{}, err
	}
	defer alone()
	state, err := l.prepare(ctx, options)
	if err != nil {
		return report.Failover{}, err
	}
	r := &run{lab: l, options: options, settings: state.Settings, replicas: state.Replicas, view: newView(),
		random: rand.New(rand.NewPCG(options.Seed, options.Seed))}
	r.header = report.Header{Schema: report.Schema, Kind: "Run", Provider: l.Cluster.Provider, Election: r.settings.Election, Identity: r.settings.Identity,
		ReleaseOnCancel: r.settings.ReleaseOnCancel, Timing: r.settings.Timing, PodStartLatencySeconds: l.Cluster.PodStartLatency.Seconds()}
	if err := r.open(state); err != nil {
		return report.Failover{}, err
	}
	err = r.all(ctx)
	r.observer.Emit(timeline.Event{Kind: timeline.RunEnded})
	result := r.result(err)
	if ended := errors.Join(r.folder.finish(result), r.folder.close()); err == nil {
		err = ended
	}
	return result, err
}

// result is the report of the trials so far; cut is why there will be no more of them, nil if there may.
func (r *run) result(cut error) report.Failover {
	f := report.NewFailover(r.header, r.trials, r.folder.Path)
	f.Requested = len(r.options.Modes) * r.options.Trials
	switch {
	case errors.Is(cut, context.Canceled):
		f.CutShort("it was interrupted")
	case errors.Is(cut, context.DeadlineExceeded):
		f.CutShort("the time limit was reached")
	case cut != nil:
		f.CutShort(cut.Error())
	}
	return f
}

// prepare checks what the trials need and sets the timing.
func (l *Lab) prepare(ctx context.Context, options Options) (replica.State, error) {
	state, err := l.Deployment.State(ctx)
	if err != nil {
		return state, err
	}
	if state.Replicas == 0 {
		return state, &provider.Problem{Err: fmt.Errorf("the operator is scaled to 0: nobody can lead"), Hint: "labctl scale 2"}
	}
	if options.Timing != nil && *options.Timing != state.Settings.Timing {
		l.Say(fmt.Sprintf("setting the operator's timing to %s; Kubernetes rolls the replicas over", options.Timing))
		if err := l.Deployment.SetTiming(ctx, *options.Timing); err != nil {
			return state, err
		}
		if err := l.WaitLed(ctx); err != nil {
			return state, err
		}
		return l.Deployment.State(ctx)
	}
	return state, nil
}

// run is one run of trials in progress.
type run struct {
	lab      *Lab
	options  Options
	settings replica.Settings
	replicas int
	header   report.Header
	folder   *Folder
	observer *observe.Observer
	view     *view
	target   replica.Target
	random   *rand.Rand
	trials   []timeline.Trial
}

// open makes the record and the observer; nothing is watched yet.
func (r *run) open(state replica.State) error {
	l := r.lab
	var modes []string
	for _, m := range r.options.Modes {
		modes = append(modes, string(m))
	}
	now := time.Now()
	folder, err := newFolder(r.options.RunsDir, now, runInfo{Header: r.header, Modes: modes, Trials: r.options.Trials,
		Seed: r.options.Seed, StartedAt: now.UTC(), Labctl: r.options.Version, Lab: l.Cluster.Name})
	if err != nil {
		return err
	}
	r.folder = folder
	r.target = replica.Target{Deployment: l.Deployment, Cluster: l.Cluster}
	r.target.Signaler, _ = l.Provider.(provider.Signaler)
	r.observer = l.observer(state)
	r.observer.Listen(r.view.on)
	r.observer.Listen(func(e timeline.Event) { folder.Append(e) }) // the first error sticks and is reported by finish
	return nil
}

// all does every trial of every mode and leaves the replicas ready.
func (r *run) all(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	wait, err := r.observer.Start(watching)
	defer func() { stop(); wait() }()
	if err != nil {
		return err
	}
	r.observer.Emit(timeline.Event{Kind: timeline.RunStarted, Note: fmt.Sprint(r.options.Modes)})
	of := len(r.options.Modes) * r.options.Trials
	for _, mode := range r.options.Modes {
		for range r.options.Trials {
			if err := r.trial(ctx, len(r.trials)+1, mode); err != nil {
				return err
			}
			if err := r.folder.finish(r.result(nil)); err != nil {
				return err
			}
			if r.options.OnTrial != nil {
				r.options.OnTrial(len(r.trials), of, r.trials[len(r.trials)-1])
			}
		}
	}
	return r.lab.WaitLed(ctx)
}

// trial does one: settle, random phase, fault, watch. A trial that was begun is kept, whatever ends it.
func (r *run) trial(ctx context.Context, n int, mode fault.Mode) error {
	s, phase, err := r.poise(ctx)
	if err != nil {
		return err
	}
	d, _ := fault.Describe(mode)
	issued := timeline.Fault{Mode: string(mode), Pod: s.holder.Name, UID: s.holder.UID, PhaseSeconds: phase.Seconds(),
		Kubectl: d.KubectlLine(r.lab.Deployment.Namespace, s.holder.Name), Standbys: []string{}, StandbyUIDs: []string{}}
	for _, p := range s.standbys {
		issued.Standbys = append(issued.Standbys, p.Name)
		issued.StandbyUIDs = append(issued.StandbyUIDs, p.UID)
	}
	limit := r.limit(mode, len(s.standbys))
	r.lab.Say(fmt.Sprintf("trial %d: %s; waiting for a successor (at most %s)", n, mode, limit.Round(time.Second)))
	r.observer.SetTrial(n)
	r.observer.Emit(timeline.Event{Kind: timeline.FaultIssued, Fault: &issued})
	err = fault.Inject(ctx, mode, r.target, fault.Pod{Name: s.holder.Name, UID: s.holder.UID})
	switch {
	case errors.Is(err, fault.ErrGone):
		r.lab.Say(fmt.Sprintf("trial %d: %v; it does not count", n, err))
		err = nil // somebody was quicker; the trial says that nothing was accepted
	case err == nil:
		r.observer.Emit(timeline.Event{Kind: timeline.FaultAccepted})
		err = r.watch(ctx, n, limit)
	}
	r.trials = append(r.trials, r.view.measure(n))
	r.observer.Emit(timeline.Event{Kind: timeline.TrialEnded})
	r.observer.SetTrial(0)
	return err
}

// poise waits until the lab is settled and then for a random while, again if the lab did not stay settled meanwhile.
// What settles a lab is often the standby's poll, so a fault right after it would meet the longest pause before the next:
// one such pause is waited out, and then a uniform share of three RetryPeriods. Simulated, the standby's next poll then
// comes as at any random moment: the largest difference of the two distributions is 0.01.
func (r *run) poise(ctx context.Context) (scene, time.Duration, error) {
	for {
		if _, err := r.settle(ctx); err != nil {
			return scene{}, 0, err
		}
		phase := time.Duration(3 * r.random.Float64() * float64(r.settings.Timing.RetryPeriod))
		wait := pollPause(r.settings.Timing) + phase
		r.lab.Say(fmt.Sprintf("settled; a random wait before the fault (%.1f s)", wait.Seconds()))
		if err := sleep(ctx, wait); err != nil {
			return scene{}, 0, err
		}
		if s, missing := r.view.settled(r.replicas, r.settings.Timing, r.observer.Now()); missing == "" {
			return s, phase, nil
		}
	}
}

// limit is how long a successor is waited for: what the model allows, twice the tolerances and a slow start.
func (r *run) limit(mode fault.Mode, standbys int) time.Duration {
	in := r.header.Input(mode, standbys)
	p := gap.PredictClass(in, timeline.Expired) // the longest: a release may fail
	return time.Duration(p.MaxSeconds*float64(time.Second)) + 20*time.Second
}

// settle waits until a trial may begin, replacing pods whose container was restarted.
func (r *run) settle(ctx context.Context) (scene, error) {
	limit := settleLimit + r.settings.Timing.LeaseDuration + 5*r.settings.Timing.RetryPeriod
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(time.Second) // a renewal that stays away is no event
	defer again.Stop()
	said, replaced := "", map[string]bool{}
	for {
		next := r.view.next()
		if pod, ok := r.view.restarted(r.replicas); ok && !replaced[pod.UID] {
			r.lab.Say("replacing " + pod.Name + ", whose container was restarted, so that back-off decides nothing")
			if err := r.target.Delete(ctx, fault.Pod{Name: pod.Name, UID: pod.UID}, false); err != nil && !errors.Is(err, fault.ErrGone) {
				return scene{}, err
			}
			replaced[pod.UID] = true
		}
		s, missing := r.view.settled(r.replicas, r.settings.Timing, r.observer.Now())
		if missing == "" {
			return s, nil
		}
		if missing != said {
			said = missing
			r.lab.Say(fmt.Sprintf("waiting %s (at most %s)", missing, limit))
		}
		select {
		case <-next:
		case <-again.C:
		case err := <-r.observer.Failed():
			return scene{}, err
		case <-deadline.C:
			return scene{}, &provider.Problem{Err: fmt.Errorf("the lab did not settle within %s: waiting %s", limit, missing), Hint: "labctl status"}
		case <-ctx.Done():
			return scene{}, ctx.Err()
		}
	}
}

// tailAfter is how long the old process is waited for after the successor works, so that its end is in the record.
const tailAfter = 3 * time.Second

// watch waits until the trial is complete, or the limit.
func (r *run) watch(ctx context.Context, n int, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	var tail <-chan time.Time
	for {
		next := r.view.next()
		t := r.view.measure(n)
		if t.Complete() {
			_, gone := t.Instant(timeline.T3)
			_, leads := t.Instant(timeline.T6)
			if gone && leads && t.OverlapSeconds != nil {
				return nil
			}
			if tail == nil {
				tail = time.After(tailAfter)
			}
		}
		select {
		case <-next:
		case <-tail:
			return nil
		case <-deadline.C:
			return nil // the trial says itself what was not seen
		case err := <-r.observer.Failed():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
