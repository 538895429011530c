// Package gate owns the two Leases that decide who may start a Job: the run lease, one Job at a time for each object, and the
// cluster lease, the operation gate between a cluster and its machines. A lease is taken before the Job exists, in the name of the
// Job, so a wait costs no pod. Every read is of the API server itself; nothing is cached.
package gate

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Grace is how long a lease keeps its holder whose Job does not exist. A pass must be shorter, or another may take its lease
// away between the taking and the Job: see PassLimit.
const Grace = time.Minute

// PassLimit bounds one pass, so that its Job is created within the grace or not at all.
const PassLimit = 30 * time.Second

// RequeueAfter is when a wait is looked at again.
const RequeueAfter = 30 * time.Second

// DefaultDeadline is a Job's activeDeadlineSeconds unless it has another.
const DefaultDeadline = time.Hour

// What a backstop adds to a Job's deadline: the pod's termination grace period, and five minutes.
const (
	podGrace   = 600 * time.Second
	afterGrace = 5 * time.Minute
)

// Backstop is the age at which a lease is free whatever its holder does: 4500 s for a Job of an hour.
func Backstop(deadline time.Duration) time.Duration { return deadline + podGrace + afterGrace }

// State is what the API server says of a Job.
type State int

// The states of a Job.
const (
	Absent State = iota
	Running
	Finished // it succeeded or failed
)

// API is what the gate asks of the API server. Each call is one request, answered by what is stored now. Errors are those of the API.
type API interface {
	// Lease reads one; an error that NotFound tells of is that there is none.
	Lease(ctx context.Context, name string) (Record, error)
	// Create is refused, with an error that AlreadyExists tells of, if there is one of that name.
	Create(ctx context.Context, r Record) error
	// Update is refused with a conflict if the lease has another version than r.
	Update(ctx context.Context, r Record) error
	// Delete is refused with a conflict if the lease has another UID or version than r.
	Delete(ctx context.Context, r Record) error
	// Runs lists the run leases that carry the label of the cluster, its own among them.
	Runs(ctx context.Context, cluster string) ([]Record, error)
	// Owned lists the leases of either type that carry the labels of their owner.
	Owned(ctx context.Context, owner Object) ([]Record, error)
	// Job tells whether the Job is there, and whether it has finished; that it is not there is no error.
	Job(ctx context.Context, name string) (State, error)
}

// Job is the Job of an operation, as whoever wants it makes and counts it.
type Job interface {
	// Create makes it. An error that AlreadyExists tells of is none: the name says that it is this one.
	Create(ctx context.Context) error
	// Count deletes the per-run Secret of the finished Job and reports whether it was there: true once for each Job.
	Count(ctx context.Context) (bool, error)
}

// Gate takes and frees the leases of one namespace.
type Gate struct {
	API API
	// Off lets a cluster's operations and its machines' run at once: the run lease alone is taken.
	Off bool
	Log *slog.Logger
	// Now is the manager's wall clock; nil is time.Now.
	Now func() time.Time
}

// Result is what a pass came to. One of the fields is set.
type Result struct {
	Created bool
	Running bool
	// Finished is whether the Job is over, and Counted whether this was the pass that counted it.
	Finished, Counted bool
	Wait              *Wait
}

// Pass is one reconcile of an operation: its Job is looked at, counted if it has finished, and else created as soon as nothing
// stands against it. It waits for nothing and tries nothing twice.
func (g Gate) Pass(ctx context.Context, op Operation, job Job) (Result, error) {
	state, err := g.API.Job(ctx, op.Job)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("read Job %s: %w", op.Job, err)
	case state == Running:
		return Result{Running: true}, nil
	case state == Finished:
		return g.Count(ctx, op, job)
	}
	wait, err := g.Enter(ctx, op)
	if err != nil || wait != nil {
		return Result{Wait: wait}, err
	}
	return g.create(ctx, op, job)
}

// Count is for a Job that has finished: the pass that counts it gives its leases back.
func (g Gate) Count(ctx context.Context, op Operation, job Job) (Result, error) {
	first, err := job.Count(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("count Job %s: %w", op.Job, err)
	}
	if first {
		g.giveBack(ctx, op)
	}
	return Result{Finished: true, Counted: first}, nil
}

// create makes the Job. If the API server refused it, and has none of that name, the leases are given back; an error that may
// hide a create that went through leaves them.
func (g Gate) create(ctx context.Context, op Operation, job Job) (Result, error) {
	err := job.Create(ctx)
	if err == nil || apierrors.IsAlreadyExists(err) {
		return Result{Created: true}, nil
	}
	if rejected(err) {
		g.giveBackUnlessJob(ctx, op)
	}
	return Result{}, fmt.Errorf("create Job %s: %w", op.Job, err)
}

// rejected reports whether the API server said no, so that nothing was created by this request.
func rejected(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsNotFound(err) // of the namespace
}

// Enter takes the leases that the operation needs. A Wait says why its Job can't be created yet; nil says that it may be.
func (g Gate) Enter(ctx context.Context, op Operation) (*Wait, error) {
	holder, err := g.Take(ctx, op.record(LeaseRun, g.now()))
	if err != nil || holder != op.Job {
		return waitFor(WaitingForRunLease, op, holder), err
	}
	switch {
	case g.Off || !op.gated():
		return nil, nil
	case op.Object.Kind == Cluster:
		return g.enterCluster(ctx, op)
	default:
		return g.enterMachine(ctx, op)
	}
}

// enterCluster is the writer's side: it writes, then it reads. It keeps both leases while it waits, so that no new operation of
// its machines begins.
func (g Gate) enterCluster(ctx context.Context, op Operation) (*Wait, error) {
	holder, err := g.Take(ctx, op.record(LeaseCluster, g.now()))
	if err != nil || holder != op.Job {
		return waitFor(WaitingForClusterLease, op, holder), err
	}
	live, err := g.InFlight(ctx, op)
	if err != nil || len(live) == 0 {
		return nil, err
	}
	return waitFor(WaitingForMachineOperations, op, live...), nil
}

// InFlight lists the Jobs of the cluster's machines and pools that change something, or are about to be created.
func (g Gate) InFlight(ctx context.Context, op Operation) ([]string, error) {
	runs, err := g.API.Runs(ctx, op.Object.ClusterName)
	if err != nil {
		return nil, fmt.Errorf("list the run leases of cluster %s: %w", op.Object.ClusterName, err)
	}
	var live []string
	for _, r := range runs {
		if r.Owner.Kind == Cluster || !r.Op.Gated() {
			continue
		}
		free, err := g.Free(ctx, r)
		if err != nil {
			return nil, err
		}
		if !free {
			live = append(live, r.Holder)
		}
	}
	slices.Sort(live)
	return live, nil
}

// enterMachine is a reader's side: it has written its run lease, then it reads the cluster's. It gives its own back if it has to
// wait, so that the cluster is not held up by an operation that never started.
func (g Gate) enterMachine(ctx context.Context, op Operation) (*Wait, error) {
	holder, err := g.Writer(ctx, op)
	if err != nil || holder == "" {
		return nil, err
	}
	g.giveBackUnlessJob(ctx, op)
	return waitFor(WaitingForClusterOperation, op, holder), nil
}

// Writer is the Job that holds the cluster lease of the operation's cluster; "" if none does.
func (g Gate) Writer(ctx context.Context, op Operation) (string, error) {
	name := op.Object.ClusterLease()
	r, err := g.API.Lease(ctx, name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read Lease %s: %w", name, err)
	}
	free, err := g.Free(ctx, r)
	if err != nil || free {
		return "", err
	}
	return r.Holder, nil
}

func (g Gate) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}
