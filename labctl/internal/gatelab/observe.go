package gatelab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/operator/lease/gate"
)

// observer keeps every change of the gate's Jobs and cluster leases. A watch that ends is begun again: what was changed meanwhile is found
// by a list, which does not tell in which order.
type observer struct {
	client    kubernetes.Interface // its requests must have no bound
	namespace string
	lost      chan struct{} // closed when nothing can be seen any more

	mu      sync.Mutex
	seen    map[string]bool // of a Job: it began, or it finished
	running map[string]bool // Job → is it the cluster's
	holder  string
	changes []Change
	unseen  string // what of the order was not seen; "" if all was
}

// observe watches from now on until ctx ends.
func (l *Lab) observe(ctx context.Context) (*observer, error) {
	o := newObserver(l.watcher, l.Namespace)
	jobs, leases, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	go o.follow(ctx, jobs, leases)
	return o, nil
}

func newObserver(client kubernetes.Interface, namespace string) *observer {
	return &observer{client: client, namespace: namespace, lost: make(chan struct{}), seen: map[string]bool{}, running: map[string]bool{}}
}

// An API server that was killed is back within seconds.
const (
	awayLimit  = 30 * time.Second
	againEvery = 250 * time.Millisecond
)

// follow keeps what the watches tell, and begins them again whenever one ends.
func (o *observer) follow(ctx context.Context, jobs, leases watch.Interface) {
	for {
		begun := time.Now()
		o.drain(ctx, jobs, leases)
		jobs.Stop()
		leases.Stop()
		select {
		case <-ctx.Done():
			return
		case <-time.After(againEvery - time.Since(begun)): // watches that end at once are not begun without a pause
		}
		var err error
		if jobs, leases, err = o.again(ctx); err != nil {
			o.lose(ctx, err)
			return
		}
	}
}

// drain returns when one of the watches, or ctx, has ended.
func (o *observer) drain(ctx context.Context, jobs, leases watch.Interface) {
	for {
		var event watch.Event
		var more bool
		select {
		case event, more = <-jobs.ResultChan():
		case event, more = <-leases.ResultChan():
		case <-ctx.Done():
		}
		if !more || event.Type == watch.Error {
			return
		}
		o.on(event)
	}
}

// again connects within awayLimit.
func (o *observer) again(ctx context.Context) (jobs, leases watch.Interface, err error) {
	for deadline := time.Now().Add(awayLimit); ; {
		jobs, leases, err = o.connect(ctx)
		if err == nil || ctx.Err() != nil || refused(err) || time.Now().After(deadline) {
			return jobs, leases, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(againEvery):
		}
	}
}

// connect lists what there is and watches from there on.
func (o *observer) connect(ctx context.Context) (jobs, leases watch.Interface, err error) {
	ofJobs, ofLeases := metav1.ListOptions{LabelSelector: gate.LabelKind}, metav1.ListOptions{LabelSelector: gate.LabelLease + "=" + gate.LeaseCluster}
	listing, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	jobList, err := o.client.BatchV1().Jobs(o.namespace).List(listing, ofJobs)
	if err != nil {
		return nil, nil, fmt.Errorf("list the Jobs: %w", err)
	}
	leaseList, err := o.client.CoordinationV1().Leases(o.namespace).List(listing, ofLeases)
	if err != nil {
		return nil, nil, fmt.Errorf("list the cluster leases: %w", err)
	}
	ofJobs.ResourceVersion, ofLeases.ResourceVersion = jobList.ResourceVersion, leaseList.ResourceVersion
	if jobs, err = o.client.BatchV1().Jobs(o.namespace).Watch(ctx, ofJobs); err != nil {
		return nil, nil, fmt.Errorf("watch the Jobs: %w", err)
	}
	if leases, err = o.client.CoordinationV1().Leases(o.namespace).Watch(ctx, ofLeases); err != nil {
		jobs.Stop()
		return nil, nil, fmt.Errorf("watch the cluster leases: %w", err)
	}
	o.listed(jobList, leaseList)
	return jobs, leases, nil
}

func (o *observer) lose(ctx context.Context, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	o.unseen = fmt.Sprintf("the watch ended, and could not be begun again: %v", err)
	close(o.lost)
}

func (o *observer) on(event watch.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := event.Object.(type) {
	case *batchv1.Job:
		if gated(object) {
			o.job(object, event.Type == watch.Deleted, object.ResourceVersion)
		}
	case *coordinationv1.Lease:
		holder := gate.RecordOf(object).Holder
		if event.Type == watch.Deleted {
			holder = ""
		}
		o.held(holder, object.ResourceVersion)
	}
}

func gated(job *batchv1.Job) bool { return gate.Op(job.Labels["captf.io/op"]).Gated() }

// job keeps what is new of a Job.
func (o *observer) job(job *batchv1.Job, deleted bool, version string) {
	change := Change{Job: job.Name, Cluster: job.Labels[gate.LabelKind] == string(gate.Cluster)}
	if !deleted {
		change.Kind = JobCreated
		o.once(change, version)
	}
	if deleted || gate.StateOf(job) == gate.Finished {
		change.Kind, change.Failed = JobFinished, !gate.Succeeded(job)
		o.once(change, version)
	}
}

func (o *observer) once(c Change, version string) {
	what := string(c.Kind) + " " + c.Job
	if o.seen[what] {
		return
	}
	o.seen[what] = true
	if c.Kind == JobCreated {
		o.running[c.Job] = c.Cluster
	} else {
		delete(o.running, c.Job)
	}
	o.add(c, version)
}

func (o *observer) held(holder, version string) {
	if holder == o.holder {
		return
	}
	if o.holder = holder; holder != "" {
		o.add(Change{Kind: LeaseTaken, Job: holder, Cluster: true}, version)
	}
}

func (o *observer) add(c Change, version string) {
	c.Version, _ = strconv.ParseUint(version, 10, 64)
	c.At = time.Now()
	o.changes = append(o.changes, c)
}

// listed keeps what a list shows that no watch has told. Its changes get the version of the list and the order in which the fewest overlap,
// so that an overlap is always one. If some are the cluster's and some the machines', the order matters, and was not seen.
func (o *observer) listed(jobs *batchv1.JobList, leases *coordinationv1.LeaseList) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.changes)
	here := map[string]bool{}
	var known, ended, runs []*batchv1.Job
	for i := range jobs.Items {
		job := &jobs.Items[i]
		here[job.Name] = true
		switch _, was := o.running[job.Name]; {
		case !gated(job):
		case was:
			known = append(known, job)
		case gate.StateOf(job) == gate.Finished:
			ended = append(ended, job)
		default:
			runs = append(runs, job)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.running)) {
		if !here[name] {
			o.once(Change{Kind: JobFinished, Job: name, Cluster: o.running[name], Failed: true}, jobs.ResourceVersion)
		}
	}
	for _, job := range slices.Concat(known, ended, runs) {
		o.job(job, false, jobs.ResourceVersion)
	}
	holder := ""
	for i := range leases.Items {
		holder = gate.RecordOf(&leases.Items[i]).Holder
	}
	o.held(holder, leases.ResourceVersion)
	cluster, machines := 0, 0
	for _, c := range o.changes[before:] {
		if c.Cluster {
			cluster++
		} else {
			machines++
		}
	}
	if cluster > 0 && machines > 0 {
		o.unseen = fmt.Sprintf("the watch was interrupted, and the order of %d changes at that time was not seen", cluster+machines)
	}
}

// all returns what was seen so far, and what of its order was not.
func (o *observer) all() (changes []Change, unseen string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.changes), o.unseen
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
