package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// labelLane marks the namespaces of lanes, so that what a killed run left is found.
const labelLane = "academy.example/lane"

func laneNamespace(number string) string { return "academy-lane-" + number }

// makeLanes makes the run's lanes. The returned function removes what was made, also after an error.
func (r *run) makeLanes(ctx context.Context, l *Lab, state replica.State) (remove func(), err error) {
	if err := l.removeLanes(ctx); err != nil { // this run is alone, so whatever there is was left by one that was killed
		return func() {}, err
	}
	if r.options.Lanes <= 1 {
		r.lanes = []*lane{r.newLane(l, 0, state)}
		return func() {}, nil
	}
	if l.Cluster.Namespace != "" {
		return func() {}, &provider.Problem{Err: errors.New("lanes are namespaces of their own, and on an existing cluster the lab keeps to its one"), Hint: "labctl failover --trials 10"}
	}
	disarm, err := l.outlive("lanes")
	if err != nil {
		return func() {}, err
	}
	l.Say(fmt.Sprintf("making %d lanes, each with %d replicas and a Lease of its own", r.options.Lanes, state.Replicas))
	var making sync.WaitGroup
	lanes, errs := make([]*lane, r.options.Lanes), make([]error, r.options.Lanes)
	for i := range lanes {
		making.Go(func() { lanes[i], errs[i] = r.makeLane(ctx, l, i+1, state) })
	}
	making.Wait()
	r.lanes = lanes
	return func() { defer disarm(); l.endLanes(ctx) }, errors.Join(errs...)
}

// newLane is a lane on a lab's operator.
func (r *run) newLane(l *Lab, number int, state replica.State) *lane {
	made := &lane{run: r, number: number, lab: l, settings: state.Settings, replicas: state.Replicas, view: newView(l.hears()),
		random: draws(r.options.Seed, number)}
	made.target = replica.Target{Deployment: l.Deployment, Cluster: l.Cluster, Config: l.config, LeaseNamespace: l.leaseNamespace(), Lease: state.Settings.LeaseName}
	made.target.Latency = gap.Latency(state.Settings.Timing)
	made.target.Signaler, _ = l.Provider.(provider.Signaler)
	made.target.Silencer, _ = l.Provider.(provider.Silencer)
	made.target.Stopper, _ = l.Provider.(provider.ServerStopper)
	made.observer = l.observer(state, number, r.start)
	made.observer.Listen(made.view.on)
	if _, watches := l.Provider.(provider.ProcessWatcher); !watches {
		made.target.Killed = func(pod fault.Pod) {
			made.observer.Emit(timeline.Event{Kind: timeline.ProcessGone, Process: &timeline.Process{Pod: pod.Name, UID: pod.UID}})
		}
	}
	return made
}

// hears is how the polls of the operator's standbys are known.
func (l *Lab) hears() hears {
	_, audits := l.Provider.(provider.Auditor)
	switch {
	case l.foreign == nil:
		return byLogs
	case audits:
		return byRequests
	default:
		return byTime
	}
}

// makeLane applies the operator's manifests in a namespace of the lane's own and waits for a leader.
func (r *run) makeLane(ctx context.Context, l *Lab, number int, state replica.State) (*lane, error) {
	replicas := state.Replicas
	if state.Settings.Election == api.ElectionCoordinated {
		replicas = min(1, replicas) // the others later, or their candidates would be made in one second: see tied
	}
	own, err := l.applyLane(ctx, number, r.options.Manifests, replica.Wanted{Image: l.Cluster.OperatorImage, Replicas: replicas, Args: state.Args})
	if err == nil {
		err = own.WaitLed(ctx)
	}
	if err == nil && replicas < state.Replicas {
		if err = own.Deployment.Scale(ctx, state.Replicas); err == nil {
			err = own.WaitLed(ctx)
		}
	}
	if err == nil {
		state, err = own.state(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("make lane %d: %w", number, err)
	}
	own.Say = l.Say
	return r.newLane(own, number, state), nil
}

// applyLane makes the lane's namespace and what is in it, and does not wait. Say of the lab that is returned says nothing.
func (l *Lab) applyLane(ctx context.Context, number int, files fs.FS, want replica.Wanted) (*Lab, error) {
	own := *l
	own.Deployment.Namespace = laneNamespace(fmt.Sprint(number))
	own.Say = func(string) {} // what each lane waits for at its start is of no interest
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: own.Deployment.Namespace, Labels: map[string]string{labelLane: fmt.Sprint(number)}}}
	_, err := l.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err == nil {
		want.Namespace = own.Deployment.Namespace
		err = replica.Apply(ctx, l.config, files, want)
	}
	return &own, err
}
