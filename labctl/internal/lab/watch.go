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

// observer returns an observer of the operator, its Lease, its work and, where the provider can tell, its processes.
func (l *Lab) observer(state replica.State) *observe.Observer {
	config := observe.Config{Client: l.watcher, Namespace: l.Deployment.Namespace, Lease: state.Settings.LeaseName,
		Pods: state.Selector, Work: api.LabelWork + "=true", Logs: true}
	if watcher, ok := l.Provider.(provider.ProcessWatcher); ok {
		config.Processes = processes(watcher, l.Cluster, l.Deployment.Namespace)
	}
	return observe.New(config)
}

// processes hands the node's events on in the timeline's words.
func processes(watcher provider.ProcessWatcher, cluster provider.Cluster, namespace string) observe.Processes {
	return func(ctx context.Context, ready func(), on func(timeline.Kind, timeline.Process)) error {
		return watcher.WatchProcesses(ctx, cluster, ready, func(e provider.ProcessEvent) {
			if e.Namespace != namespace {
				return
			}
			kind := timeline.ProcessGone
			if e.Started {
				kind = timeline.ProcessUp
			}
			on(kind, timeline.Process{Pod: e.Pod, UID: e.UID, PID: e.PID, ExitCode: e.ExitCode, Restarts: e.Restarts})
		})
	}
}

// Watch hands every event on to on until ctx ends, which is no error, or the lab is gone, which is. on is called one event at a time and must not block.
func (l *Lab) Watch(ctx context.Context, on func(timeline.Event)) error {
	state, err := l.Deployment.State(ctx)
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	observer := l.observer(state)
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
