package lab

import (
	"context"
	"net/http"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// observer returns an observer of the operator, its Lease, its work and, where the provider can tell, its processes and
// the requests on the Lease. Its clock begins at start.
func (l *Lab) observer(state replica.State, lane int, start time.Time) *observe.Observer {
	config := observe.Config{Client: l.watcher, Start: start, Lane: lane, Namespace: l.Deployment.Namespace, LeaseNamespace: l.leaseNamespace(),
		Lease: state.Settings.LeaseName, Pods: state.Selector, Deployment: l.Deployment.Name, Hide: nameless(l.Cluster.StateDir)}
	if l.foreign == nil {
		config.Work, config.Logs = api.LabelWork+"=true", true
	} else if l.foreign.shows {
		config.Work = api.LabelWork + "=true"
	}
	if watcher, ok := l.Provider.(provider.ProcessWatcher); ok {
		config.Processes = l.processes(watcher)
	}
	if auditor, ok := l.Provider.(provider.Auditor); ok {
		config.Requests = l.requests(auditor, config.LeaseNamespace, config.Lease)
	}
	if prober, ok := l.Provider.(provider.NodeProber); ok {
		config.Probes = append(config.Probes, observe.Probe{What: "the node", Ask: prober.NodeProbe(l.Cluster)})
	}
	return observe.New(config)
}

// processes hands the node's events on in the timeline's words.
func (l *Lab) processes(watcher provider.ProcessWatcher) observe.Processes {
	return func(ctx context.Context, ready func(), on func(timeline.Kind, timeline.Process)) error {
		return watcher.WatchProcesses(ctx, l.Cluster, ready, func(e provider.ProcessEvent) {
			if e.Namespace != l.Deployment.Namespace {
				return
			}
			kind := timeline.ProcessGone
			if e.Started {
				kind = timeline.ProcessUp
			}
			on(kind, timeline.Process{Pod: e.Pod, UID: e.UID, PID: e.PID, ExitCode: e.ExitCode, Restarts: e.Restarts, At: e.At})
		})
	}
}

// requests hands the pods' requests on one Lease on in the timeline's words.
func (l *Lab) requests(auditor provider.Auditor, namespace, lease string) observe.Requests {
	return func(ctx context.Context, ready func(), on func(timeline.Request)) error {
		return auditor.WatchRequests(ctx, l.Cluster, ready, func(r provider.LeaseRequest) {
			refused := r.Code == http.StatusUnauthorized // whose user the server does not know
			if r.Namespace == namespace && r.Lease == lease && (r.Pod != "" || refused) {
				on(timeline.Request{Verb: r.Verb, Code: r.Code, Pod: r.Pod, UID: r.PodUID, Received: r.Received, Answered: r.Answered})
			}
		})
	}
}

// Watching is what Watch follows.
type Watching struct {
	// Start is when the clock of the events reads 0; the beginning of the watching if it is zero.
	Start time.Time
	// Namespace and Lease name any Lease of the cluster, of whose candidates nothing is known; "" for the operator's own.
	Namespace, Lease string
	// On takes each event, one at a time, and must not block.
	On func(timeline.Event)
	// Listed is called once all that was there at the beginning was handed on; it may be nil.
	Listed func()
}

// Watch hands every event on until ctx ends, which is no error, or the lab is gone, which is.
func (l *Lab) Watch(ctx context.Context, w Watching) error {
	observer := observe.New(observe.Config{Client: l.watcher, Start: w.Start, LeaseNamespace: w.Namespace, Lease: w.Lease})
	if w.Lease == "" {
		state, err := l.state(ctx)
		if err != nil {
			return err
		}
		observer = l.observer(state, 0, w.Start)
	}
	watching, stop := context.WithCancel(ctx)
	observer.Listen(w.On)
	wait, err := observer.Start(watching)
	defer func() { stop(); wait() }()
	if err != nil {
		return err
	}
	if w.Listed != nil {
		w.Listed()
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case err := <-observer.Failed():
			return err
		case <-look.C:
			if err := l.lost(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Running is what runs, in the words of a record.
func (l *Lab) Running(ctx context.Context) (report.Header, error) {
	state, err := l.state(ctx)
	return l.header(state, 1), err
}

// Modes returns what the lab's provider can do to a holder.
func (l *Lab) Modes() []fault.Description {
	_, signals := l.Provider.(provider.Signaler)
	_, silences := l.Provider.(provider.Silencer)
	_, slows := l.Provider.(provider.Slower)
	_, stops := l.Provider.(provider.ServerStopper)
	return slices.DeleteFunc(fault.Modes(), func(d fault.Description) bool {
		return !signals && d.Needs == fault.Signals || !silences && d.Needs == fault.Silencer || !slows && d.Needs == fault.Slower || !stops && d.Needs == fault.Stopper
	})
}
