package model

import (
	"fmt"

	"academy.example/lab/operator/lease/gate"
)

// deed is a kind of step.
type deed uint8

const (
	begin   deed = iota + 1 // a pass begins
	respond                 // the next request of a pass is answered
	finish                  // a Job finishes
	crash                   // a manager crashes, and is back at once
	away                    // a manager crashes, and is back after the grace
	change                  // the cluster's inputs change
	tick                    // 30 seconds pass
)

// action is one step.
type action struct {
	deed  deed
	actor int8
	job   jobID
}

// actions lists what can happen next.
func (c *search) actions(w *world) []action {
	var can []action
	quiet := true
	for a := range w.actors {
		act := &w.actors[a]
		switch {
		case act.passing:
			can = append(can, action{deed: respond, actor: int8(a)})
			quiet = quiet && c.scope.Variant == Frozen && act.pending.verb == createJob
		case act.due && act.down == 0:
			can = append(can, action{deed: begin, actor: int8(a)})
			quiet = false
		}
		if act.ops < c.ops(a) && int(w.crashes) < c.scope.Crashes && act.down == 0 {
			if act.passing {
				can = append(can, action{deed: crash, actor: int8(a)})
			}
			can = append(can, action{deed: away, actor: int8(a)})
		}
	}
	for j := jobID(1); int(j) < len(w.jobs); j++ {
		if w.jobs[j] == gate.Running {
			can = append(can, action{deed: finish, actor: int8(j.owner()), job: j})
		}
	}
	if k := &w.actors[cluster]; int(w.changes) < c.scope.Changes && k.ops < c.ops(cluster) && w.jobs[w.wanted(cluster)] == gate.Absent {
		can = append(can, action{deed: change, actor: cluster})
	}
	if quiet && c.waiting(w) {
		can = append(can, action{deed: tick})
	}
	return can
}

// waiting reports whether time changes anything: somebody waits for it.
func (c *search) waiting(w *world) bool {
	for a := range w.actors {
		if act := &w.actors[a]; act.ops < c.ops(a) && (act.down > 0 || w.jobs[w.wanted(a)] != gate.Running) {
			return true
		}
	}
	return false
}

// act takes a step and returns what is wrong with it; "" is nothing.
func (c *search) act(w *world, by action) string {
	a := int(by.actor)
	act := &w.actors[a]
	switch by.deed {
	case begin:
		act.due, act.passing, act.passFor, act.answers = false, true, w.wanted(a), nil
		c.resume(w, a)
	case respond:
		return c.proceed(w, a)
	case finish:
		w.jobs[by.job] = gate.Finished
		if by.job == w.wanted(a) {
			act.due = true // its end is seen
		}
	case crash, away:
		w.crashes++
		act.passing, act.answers, act.pending, act.passFor, act.due = false, nil, request{}, 0, true
		if by.deed == away {
			act.down = old
		}
		if a == cluster {
			w.granted++
		}
	case change:
		w.changes++
		w.granted++
		act.want++
		act.due = true
	case tick:
		c.tick(w)
	}
	return ""
}

// proceed answers one request of a pass.
func (c *search) proceed(w *world, a int) string {
	asked := w.actors[a].pending
	waited := w.clusterWaits()
	got := c.reply(w, a)
	wrong := ""
	if asked.verb == createJob && got.code == ok {
		wrong = c.started(w, a, asked.job, waited)
	}
	c.resume(w, a)
	return wrong
}

// clusterWaits reports whether the cluster holds the cluster lease in the name of a Job that does not exist.
func (w *world) clusterWaits() bool {
	l := w.leases[clusterLease]
	return l.exists && l.holder != 0 && w.jobs[l.holder] == gate.Absent
}

// started looks at a Job that begins.
func (c *search) started(w *world, a int, id jobID, waited bool) string {
	for other := jobID(1); int(other) < len(w.jobs); other++ {
		gated := other.owner() == a || other.owner() == cluster || a == cluster
		if other != id && w.jobs[other] == gate.Running && gated {
			return fmt.Sprintf("overlap: Job %s begins while Job %s runs", jobNames[id], jobNames[other])
		}
	}
	if a == cluster {
		for i := range w.actors {
			w.actors[i].ran = 0
		}
		return ""
	}
	if !waited {
		return ""
	}
	act := &w.actors[a]
	act.ran++
	if w.granted == 0 {
		c.report.MostOvertaken = max(c.report.MostOvertaken, int(act.ran))
	}
	if act.ran > 1+w.granted {
		return fmt.Sprintf("starvation: %d Jobs of %s began while the cluster held its lease and waited", act.ran, nicknames[a])
	}
	return ""
}

// tick is that a requeue's time passes: every lease is older, and whoever waits is due.
func (c *search) tick(w *world) {
	for i := range w.leases {
		if l := &w.leases[i]; l.exists {
			l.age = min(l.age+1, old)
		}
	}
	if c.scope.Variant == StaleList {
		copy(w.cache[:], w.leases[:actors])
	}
	for a := range w.actors {
		act := &w.actors[a]
		act.down = max(act.down-1, 0)
		if act.ops < c.ops(a) && !act.passing && w.jobs[w.wanted(a)] != gate.Running {
			act.due = true
		}
	}
}
