package model

import (
	"strconv"

	"academy.example/lab/operator/lease/gate"
)

// The actors: one cluster and its two machines.
const (
	cluster = iota
	machine1
	machine2
	actors
)

// clusterLease is the number of the cluster lease; the actors' numbers are those of their run leases.
const clusterLease = actors

// most is how many Jobs an actor may want, one after the other.
const most = 3

// jobID is a Job: 0 is none.
type jobID int8

func idOf(actor, n int) jobID { return jobID(1 + actor*most + n) }
func (j jobID) owner() int    { return int(j-1) / most }

var (
	objects    [actors]gate.Object
	leaseNames [actors + 1]string
	leaseNamed = map[string]int8{}
	jobNames   [1 + actors*most]string
	jobNamed   = map[string]jobID{}
	versions   [1 << 10]string
	nicknames  = [actors]string{"cluster", "machine-1", "machine-2"}
)

func init() {
	for i := range objects {
		objects[i] = gate.Object{Kind: gate.Machine, Namespace: "n", Name: nicknames[i], ClusterName: "cluster"}
		if i == cluster {
			objects[i].Kind = gate.Cluster
		}
		leaseNames[i] = objects[i].RunLease()
		for n := range most {
			id := idOf(i, n)
			jobNames[id] = nicknames[i] + "-" + string(rune('a'+n))
			jobNamed[jobNames[id]] = id
		}
	}
	leaseNames[clusterLease] = objects[cluster].ClusterLease()
	for i, name := range leaseNames {
		leaseNamed[name] = int8(i)
	}
	for i := range versions {
		versions[i] = strconv.Itoa(i)
	}
}

// lease is a Lease as it is stored. Its age is in ticks, and no more than old.
type lease struct {
	exists  bool
	holder  jobID
	age     int8
	version int16
}

// old is the first age beyond the grace.
const old = int8(gate.Grace/step) + 1

// actor is the controller's view of one object.
type actor struct {
	want    int8 // the number of the Job that is wanted; limit is none any more
	ops     int8 // operations that are done
	due     bool // a pass is to begin within this tick
	down    int8 // ticks until its manager is back
	passing bool // a pass is under way
	passFor jobID
	answers []answer // never changed in place: worlds share them
	pending request
	ran     int8 // its Jobs that began while the cluster held the cluster lease and waited
}

// world is all that is: what the API server stores, and how far each actor is.
type world struct {
	leases  [actors + 1]lease
	jobs    [1 + actors*most]gate.State
	counted [1 + actors*most]bool
	actors  [actors]actor
	cache   [actors]lease // what a stale list shows: the run leases at the last tick
	version int16
	crashes int8
	// granted is how many more overtakings of the cluster are no fault: one for each time that nobody kept its lease fresh.
	granted int8
	changes int8
}

func (w *world) wanted(a int) jobID { return idOf(a, int(w.actors[a].want)) }

// answer carries out a request, as the API server would.
func (w *world) answer(r request, stale bool) answer {
	switch r.verb {
	case getLease:
		if l := w.leases[r.lease]; l.exists {
			return answer{lease: l}
		}
		return answer{code: notFound}
	case createLease:
		if w.leases[r.lease].exists {
			return answer{code: exists}
		}
		w.write(r)
	case updateLease, deleteLease:
		l := &w.leases[r.lease]
		switch {
		case !l.exists:
			return answer{code: notFound}
		case l.version != r.version:
			return answer{code: conflict}
		case r.verb == deleteLease:
			*l = lease{}
		default:
			w.write(r)
		}
	case listRuns:
		a := answer{listed: true}
		from := w.leases[:actors]
		if stale {
			from = w.cache[:]
		}
		copy(a.leases[:], from)
		return a
	case listOwned:
		a := answer{listed: true}
		a.leases[r.lease] = w.leases[r.lease]
		if r.lease == cluster {
			a.leases[clusterLease] = w.leases[clusterLease]
		}
		return a
	case getJob:
		return answer{state: w.jobs[r.job]}
	case createJob:
		if w.jobs[r.job] != gate.Absent {
			return answer{code: exists}
		}
		w.jobs[r.job] = gate.Running
	case countJob:
		first := !w.counted[r.job]
		w.counted[r.job] = true
		return answer{counted: first}
	default:
		panic("a request that is not modelled")
	}
	return answer{}
}

func (w *world) write(r request) {
	w.version++
	w.leases[r.lease] = lease{exists: true, holder: r.job, version: w.version}
}

// local reports whether a request is of no concern to the other actors: nobody else writes what it reads, and it writes nothing.
// Such a request is answered at once, because its place among the others' makes no difference.
func (w *world) local(a int, r request) bool {
	own := int(r.lease) == a || r.lease == clusterLease && a == cluster
	switch r.verb {
	case getLease:
		return own
	case createLease:
		return w.leases[r.lease].exists
	case getJob:
		return r.job.owner() == a && w.jobs[r.job] != gate.Running
	default:
		return false
	}
}
