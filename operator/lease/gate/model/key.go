package model

import (
	"bytes"
	"hash/maphash"

	"academy.example/lab/operator/lease/gate"
)

// key stands for a world, and for the one in which the machines have each other's place: a hash of all of it that matters. With a
// million states, two share a key with a probability of less than one in ten million.
type key uint64

var seed = maphash.MakeSeed()

// order is in which order actors are written down; the cluster lease comes last in both.
type order [actors + 1]int8

var orders = [2]order{{cluster, machine1, machine2, clusterLease}, {cluster, machine2, machine1, clusterLease}}

func (w *world) key() key {
	var first, second [768]byte
	a, b := w.encode(first[:0], &orders[0]), w.encode(second[:0], &orders[1])
	if bytes.Compare(a, b) > 0 {
		a = b
	}
	return key(maphash.Bytes(seed, a))
}

// encode writes a world down. Of a version it matters whether it is the stored one: another can never become that again.
func (w *world) encode(b []byte, as *order) []byte {
	for _, i := range as {
		b = w.addLease(b, as, i, w.leases[i])
		if i != clusterLease {
			b = append(b, byte(w.cache[i].holder), byte(w.cache[i].age))
			for n := range most {
				id := idOf(int(i), n)
				b = append(b, byte(w.jobs[id]), bit(w.counted[id]))
			}
		}
	}
	b = append(b, byte(w.crashes), byte(w.granted), byte(w.changes))
	for _, i := range as[:actors] {
		b = w.addActor(b, as, &w.actors[i])
	}
	return b
}

func (w *world) addLease(b []byte, as *order, which int8, l lease) []byte {
	return append(b, bit(l.exists), as.job(l.holder), byte(l.age), bit(l.exists && l.version == w.leases[which].version))
}

func (w *world) addActor(b []byte, as *order, a *actor) []byte {
	b = append(b, byte(a.want), byte(a.ops), bit(a.due), byte(a.down), bit(a.passing), as.job(a.passFor), byte(a.ran), byte(len(a.answers)))
	if !a.passing {
		return b
	}
	p := a.pending
	current := bit(w.leases[p.lease].exists && p.version == w.leases[p.lease].version)
	b = append(b, byte(p.verb), byte(as[p.lease]), as.job(p.job), current)
	for _, got := range a.answers {
		b = append(b, byte(got.code), byte(got.state), bit(got.counted), as.job(got.lease.holder), byte(got.lease.age), w.current(got.lease))
		if got.listed {
			for _, i := range as {
				b = w.addLease(b, as, i, got.leases[i])
			}
		}
	}
	return b
}

// current reports whether a lease that was read is still stored as it was. Versions are never used twice.
func (w *world) current(l lease) byte {
	for _, stored := range w.leases {
		if l.exists && stored.exists && stored.version == l.version {
			return 1
		}
	}
	return 0
}

// job is the Job as it is called in that order.
func (o *order) job(id jobID) byte {
	if id == 0 {
		return 0
	}
	return byte(idOf(int(o[id.owner()]), int(id-1)%most))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

var _ gate.API = (*view)(nil)
