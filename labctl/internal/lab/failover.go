package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"academy.example/lab/labctl/internal/fault"
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
	// Lanes is how many sets of replicas are measured side by side, each in a namespace made for the run; 1 or less measures
	// the operator itself.
	Lanes int
	// Foreign is the operator to measure in place of the lab's own; nil for that.
	Foreign *Foreign
	// Manifests are what a lane consists of; needed for more than one.
	Manifests fs.FS
	// Set is made of the operator's settings first; the operator keeps it.
	Set replica.Change
	// Seed draws the phases; the same seed draws the same ones.
	Seed    uint64
	RunsDir string
	Version string // of labctl, for the record
	// OnTrial is called after each trial. It may be nil.
	OnTrial func(n, of int, t timeline.Trial)
	// OnEvent takes each event of a run, one at a time for each lane, and must not block. OnMeasure takes what was measured
	// so far of a trial under way, each time that there is more. Either may be nil.
	OnEvent   func(timeline.Event)
	OnMeasure func(timeline.Trial)
}

// Failover times failovers: settle, wait a random phase, do it, watch, record. The report holds the trials that were
// completed, also when an error ends the run early.
func (l *Lab) Failover(ctx context.Context, options Options) (report.Failover, error) {
	release, err := alone(l.Cluster, "measuring failovers of this lab")
	if err != nil {
		return report.Failover{}, err
	}
	defer release()
	if options.Foreign != nil {
		if l, err = options.Foreign.of(ctx, l); err != nil {
			return report.Failover{}, err
		}
	}
	state, err := l.prepare(ctx, options)
	if err != nil {
		return report.Failover{}, err
	}
	r := &run{options: options, cluster: l.Cluster, start: time.Now()}
	r.header = l.header(state, options.Lanes)
	remove, err := r.makeLanes(ctx, l, state)
	if err == nil {
		err = r.open()
	}
	if err != nil {
		remove()
		return report.Failover{}, err
	}
	err = r.all(ctx)
	result := r.result(err)
	r.folder.Append(timeline.Event{Seconds: time.Since(r.start).Seconds(), Wall: time.Now().UTC(), Kind: timeline.RunEnded, Note: result.Cut})
	if ended := errors.Join(r.folder.finish(result), r.folder.close()); err == nil {
		err = ended
	}
	remove()
	return result, err
}

// header is what the trials run on.
func (l *Lab) header(state replica.State, lanes int) report.Header {
	h := report.Header{Schema: report.Schema, Kind: kindRun, Provider: l.Cluster.Provider, Timing: state.Settings.Timing,
		Operator: l.Deployment.Namespace + "/" + l.Deployment.Name, Lease: l.leaseNamespace() + "/" + state.Settings.LeaseName,
		Foreign: l.foreign != nil, PodStartLatencySeconds: l.Cluster.PodStartLatency.Seconds(), Kubernetes: l.Cluster.Kubernetes}
	if lanes > 1 {
		h.Operator, h.Lease = laneNamespace("*")+"/"+l.Deployment.Name, laneNamespace("*")+"/"+state.Settings.LeaseName
	} else {
		h.Program = l.program(state) // lanes run the lab's own
	}
	if l.foreign == nil {
		h.Election, h.Identity = report.Setting(state.Settings.Election), report.Setting(state.Settings.Identity)
		h.ReleaseOnCancel = &state.Settings.ReleaseOnCancel
		if state.Settings.Election == api.ElectionGuarded {
			h.OnLoss, h.Guards = report.Setting(state.Settings.OnLoss), &state.Settings.Guards
		}
	}
	return h
}

// prepare checks what the trials need and changes the settings.
func (l *Lab) prepare(ctx context.Context, options Options) (replica.State, error) {
	state, err := l.reach(ctx)
	if err != nil {
		return state, err
	}
	if err := l.able(ctx, options, state.Settings.Timing); err != nil {
		return state, err
	}
	if err := l.electable(ctx, options, state.Settings); err != nil {
		return state, err
	}
	if state.Replicas == 0 {
		hint := "labctl scale 2"
		if l.foreign != nil {
			hint = fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", l.Deployment.Namespace, l.Deployment.Name)
		}
		return state, &provider.Problem{Err: fmt.Errorf("the operator is scaled to 0: nobody can lead"), Hint: hint}
	}
	if err := l.succeeded(options.Modes, state.Replicas); err != nil {
		return state, err
	}
	if options.Lanes > 1 {
		return options.Set.In(state), nil // the lanes get the settings, and the operator keeps its own
	}
	if l.foreign != nil {
		return state, nil
	}
	done, err := l.set(ctx, options.Set)
	if err != nil || len(done.Differences) == 0 {
		return state, err
	}
	return l.state(ctx)
}

// run is one run of trials in progress.
type run struct {
	options Options
	cluster provider.Cluster
	header  report.Header
	start   time.Time // when the run's clock reads 0
	folder  *Folder
	lanes   []*lane

	mu     sync.Mutex
	begun  int // trials
	trials map[int]timeline.Trial
}

// open makes the record; nothing is watched yet.
func (r *run) open() error {
	folder, err := newFolder(r.options.RunsDir, r.start, r.info())
	if err != nil {
		return err
	}
	r.folder, r.trials = folder, map[int]timeline.Trial{}
	for _, l := range r.lanes {
		l.observer.Listen(func(e timeline.Event) { folder.Append(e) }) // the first error sticks and is reported by finish
		if r.options.OnEvent != nil {
			l.observer.Listen(r.options.OnEvent)
		}
	}
	folder.Append(timeline.Event{Wall: r.start.UTC(), Kind: timeline.RunStarted, Note: fmt.Sprint(r.options.Modes)})
	return nil
}

// info is what the record says of what was asked for.
func (r *run) info() RunInfo {
	var modes []string
	for _, m := range r.options.Modes {
		modes = append(modes, string(m))
	}
	return RunInfo{Header: r.header, Modes: modes, Trials: r.options.Trials, Lanes: len(r.lanes), Seed: r.options.Seed, StartedAt: r.start.UTC(),
		Labctl: r.options.Version, Lab: r.cluster.Name}
}

// all does every trial, each on the next lane that is free, and leaves the replicas ready. The modes take turns, so that a machine that
// slows down or a run that is cut short touches all of them alike.
func (r *run) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan fault.Mode, len(r.options.Modes)*r.options.Trials)
	for range r.options.Trials {
		for _, mode := range r.options.Modes {
			queue <- mode
		}
	}
	close(queue)
	var working sync.WaitGroup
	for _, l := range r.lanes {
		working.Go(func() {
			if err := l.work(ctx, queue); err != nil {
				cancel(err) // the first one ends the others
			}
		})
	}
	working.Wait()
	return context.Cause(ctx)
}

// next numbers a trial that begins.
func (r *run) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
	return r.begun
}

// done keeps a finished trial, writes what there is by now, and tells.
func (r *run) done(n int, t timeline.Trial) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[n] = t
	if err := r.folder.finish(r.report(nil)); err != nil {
		return err
	}
	if r.options.OnTrial != nil {
		r.options.OnTrial(n, r.requested(), t)
	}
	return nil
}

func (r *run) requested() int { return len(r.options.Modes) * r.options.Trials }

// result is the report of the trials so far; cut is why there will be no more of them, nil if there may.
func (r *run) result(cut error) report.Failover {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report(cut)
}

func (r *run) report(cut error) report.Failover {
	var trials []timeline.Trial
	for _, n := range slices.Sorted(maps.Keys(r.trials)) {
		trials = append(trials, r.trials[n])
	}
	f := report.NewFailover(r.header, trials, r.folder.Path)
	f.Requested = r.requested()
	switch {
	case len(trials) == f.Requested: // what was asked for is done
	case errors.Is(cut, context.Canceled):
		f.CutShort("it was interrupted")
	case errors.Is(cut, context.DeadlineExceeded):
		f.CutShort("the time limit was reached")
	case cut != nil:
		f.CutShort(nameless(r.cluster.StateDir, r.options.RunsDir)(cut.Error()))
	}
	return f
}
