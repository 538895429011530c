package gatelab

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"academy.example/lab/operator/lease/gate"
)

const mergePatch = types.MergePatchType

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// observer keeps every change of the gate's Jobs and cluster leases.
type observer struct {
	mu      sync.Mutex
	seen    map[string]bool // of a Job: it began, or it finished
	holder  string
	changes []Change
	lost    error
}

// observe watches from now on until ctx ends.
func (l *Lab) observe(ctx context.Context) (*observer, error) {
	o := &observer{seen: map[string]bool{}}
	jobs, err := l.client.BatchV1().Jobs(l.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: gate.LabelKind})
	if err != nil {
		return nil, fmt.Errorf("watch the Jobs: %w", err)
	}
	leases, err := l.client.CoordinationV1().Leases(l.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: gate.LabelLease + "=" + gate.LeaseCluster})
	if err != nil {
		return nil, fmt.Errorf("watch the cluster leases: %w", err)
	}
	go o.follow(ctx, jobs)
	go o.follow(ctx, leases)
	return o, nil
}

func (o *observer) follow(ctx context.Context, w watch.Interface) {
	for event := range w.ResultChan() {
		o.on(event)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() == nil && o.lost == nil {
		o.lost = fmt.Errorf("a watch ended before the run: what came after it was not seen")
	}
}

func (o *observer) on(event watch.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := event.Object.(type) {
	case *batchv1.Job:
		if !gate.Op(object.Labels["captf.io/op"]).Gated() {
			return
		}
		if event.Type != watch.Deleted {
			o.once(object, JobCreated, object.Name+" began")
		}
		if gate.StateOf(object) == gate.Finished || event.Type == watch.Deleted {
			o.once(object, JobFinished, object.Name+" finished")
		}
	case *coordinationv1.Lease:
		r := gate.RecordOf(object)
		if event.Type == watch.Deleted {
			o.holder = ""
		} else if r.Holder != o.holder {
			o.holder = r.Holder
			o.add(object.ResourceVersion, Change{Kind: LeaseTaken, Job: r.Holder, Cluster: true})
		}
	}
}

func (o *observer) once(job *batchv1.Job, kind ChangeKind, what string) {
	if o.seen[what] {
		return
	}
	o.seen[what] = true
	o.add(job.ResourceVersion, Change{Kind: kind, Job: job.Name, Cluster: job.Labels[gate.LabelKind] == string(gate.Cluster)})
}

func (o *observer) add(version string, c Change) {
	c.Version, _ = strconv.ParseUint(version, 10, 64)
	c.At = time.Now()
	o.changes = append(o.changes, c)
}

// all returns what was seen so far.
func (o *observer) all() ([]Change, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Change(nil), o.changes...), o.lost
}

// of returns how many changes of a kind were seen, of the cluster's Jobs or of the machines'.
func (o *observer) of(kind ChangeKind, cluster bool) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.changes {
		if c.Kind == kind && c.Cluster == cluster {
			n++
		}
	}
	return n
}
