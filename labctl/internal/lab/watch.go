package lab

import (
	"context"
	"errors"
	"time"

	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// observer returns an observer of the operator, its Lease, its work and, where the provider can tell, its processes and
// the requests on the Lease. Its clock begins at start.
func (l *Lab) observer(state replica.State, lane int, start time.Time) *observe.Observer {
	config := observe.Config{Client: l.watcher, Start: start, Lane: lane, Namespace: l.Deployment.Namespace, LeaseNamespace: l.leaseNamespace(),
		Lease: state.Settings.LeaseName, Pods: state.Selector, Deployment: l.Deployment.Name}
	if l.foreign == nil {
		config.Work, config.Logs = api.LabelWork+"=true", true
	}
	if watcher, ok := l.Provider.(provider.ProcessWatcher); ok {
		config.Processes = l.processes(watcher)
	}
	if auditor, ok := l.Provider.(provider.Auditor); ok {
		config.Requests = l.requests(auditor, config.LeaseNamespace, config.Lease)
	}
	if prober, ok := l.Provider.(provider.NodeProber); ok {
		config.Probes = append(config.Probes, observe.Probe{What: "the node", Ask: func(ctx context.Context) error { return prober.ProbeNode(ctx, l.Cluster) }})
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
			if r.Namespace == namespace && r.Lease == lease && r.Pod != "" {
				on(timeline.Request{Verb: r.Verb, Code: r.Code, Pod: r.Pod, UID: r.PodUID, Received: r.Received, Answered: r.Answered})
			}
		})
	}
}

// Watch hands every event on to on until ctx ends, which is no error, or the lab is gone, which is. on is called one event at a time and must not block.
func (l *Lab) Watch(ctx context.Context, on func(timeline.Event)) error {
	state, err := l.state(ctx)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	observer := l.observer(state, 0, time.Now())
	observer.Listen(on)
	wait, err := observer.Start(watching)
	defer func() { stop(); wait() }()
	if err != nil {
		return err
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case err := <-observer.Failed():
			return err
		case <-look.C:
			if _, err := l.Provider.Find(ctx, l.Cluster.Name); errors.Is(err, provider.ErrNoLab) {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
