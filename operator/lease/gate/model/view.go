package model

import (
	"context"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/operator/lease/gate"
)

// verb is what a request does.
type verb uint8

const (
	none verb = iota
	getLease
	createLease
	updateLease
	deleteLease
	listRuns
	listOwned
	getJob
	createJob
	countJob
)

// request is one request of a pass.
type request struct {
	verb    verb
	lease   int8  // whose: an actor's run lease, or clusterLease
	job     jobID // that is read, made or counted, or the holder to write
	version int16 // that a write names
}

// answer is what the API server said.
type answer struct {
	code    code
	state   gate.State
	lease   lease
	listed  bool
	leases  [actors + 1]lease // of a list, those that exist
	counted bool
}

// code is how a request ended.
type code uint8

const (
	ok code = iota
	notFound
	exists
	conflict
)

var (
	resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	errorOf  = map[code]error{
		ok: nil, notFound: apierrors.NewNotFound(resource, ""), exists: apierrors.NewAlreadyExists(resource, ""),
		conflict: apierrors.NewConflict(resource, "", errors.New("modified")),
	}
	errPending = errors.New("not answered yet")
)

// view is the API as one pass sees it: the answers it has had are given again, and the first request beyond them is kept. So the
// gate's own code, run again from its beginning, says what it asks next.
type view struct {
	answers []answer
	given   int
	pending request
}

func (v *view) ask(r request) (answer, error) {
	if v.given < len(v.answers) {
		v.given++
		a := v.answers[v.given-1]
		return a, errorOf[a.code]
	}
	if v.pending.verb == none {
		v.pending = r
	}
	return answer{}, errPending
}

func (v *view) Lease(_ context.Context, name string) (gate.Record, error) {
	a, err := v.ask(request{verb: getLease, lease: leaseNamed[name]})
	return a.lease.record(leaseNamed[name]), err
}

func (v *view) Create(_ context.Context, r gate.Record) error {
	_, err := v.ask(request{verb: createLease, lease: leaseNamed[r.Name], job: jobNamed[r.Holder]})
	return err
}

func (v *view) Update(_ context.Context, r gate.Record) error {
	_, err := v.ask(request{verb: updateLease, lease: leaseNamed[r.Name], job: jobNamed[r.Holder], version: number(r.Version)})
	return err
}

func (v *view) Delete(_ context.Context, r gate.Record) error {
	_, err := v.ask(request{verb: deleteLease, lease: leaseNamed[r.Name], version: number(r.Version)})
	return err
}

func (v *view) Runs(context.Context, string) ([]gate.Record, error) {
	a, err := v.ask(request{verb: listRuns})
	return a.records(), err
}

func (v *view) Owned(_ context.Context, o gate.Object) ([]gate.Record, error) {
	a, err := v.ask(request{verb: listOwned, lease: leaseNamed[o.RunLease()]})
	return a.records(), err
}

func (v *view) Job(_ context.Context, name string) (gate.State, error) {
	a, err := v.ask(request{verb: getJob, job: jobNamed[name]})
	return a.state, err
}

// job is a pass's own Job.
type job struct {
	view *view
	id   jobID
}

func (j job) Create(context.Context) error {
	_, err := j.view.ask(request{verb: createJob, job: j.id})
	return err
}

func (j job) Count(context.Context) (bool, error) {
	a, err := j.view.ask(request{verb: countJob, job: j.id})
	return a.counted, err
}

func (a answer) records() []gate.Record {
	var found []gate.Record
	for i, l := range a.leases {
		if l.exists {
			found = append(found, l.record(int8(i)))
		}
	}
	return found
}

// clock is what each pass reads: ages are told from it backwards.
var clock = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// step is how much older everything is after a tick: a requeue.
const step = gate.RequeueAfter

func (l lease) record(which int8) gate.Record {
	owner, kind := int(which), gate.LeaseRun
	if which == clusterLease {
		owner, kind = cluster, gate.LeaseCluster
	}
	return gate.Record{Name: leaseNames[which], Type: kind, Owner: objects[owner], Op: gate.Apply, Holder: jobNames[l.holder],
		Acquired: clock.Add(-time.Duration(l.age) * step), Backstop: gate.Backstop(gate.DefaultDeadline),
		UID: types.UID("u"), Version: versions[l.version]}
}

func number(version string) int16 {
	n, _ := strconv.Atoi(version)
	return int16(n)
}
