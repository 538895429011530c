// Package model checks the gate: it runs the gate's own code for a cluster and two machines in every order that their requests can
// have, with managers that crash, and looks for two Jobs that must not run at once and for a cluster that is overtaken for ever.
package model

import (
	"context"
	"fmt"
	"time"

	"academy.example/lab/operator/lease/gate"
)

// Scope is what is checked.
type Scope struct {
	Variant Variant
	// Crashes is how often a manager may crash in all, ClusterOps and MachineOps how many operations each does, one after the
	// other, at most two, and Changes how often the cluster's inputs may change, at most one.
	Crashes, ClusterOps, MachineOps, Changes int
}

// Scopes are what a variant is checked in: every order of a cluster's operation, one of each machine and two crashes; and every order
// of a cluster's operation whose inputs change once, and two of each machine, one after the other. Each is some hundred thousand states.
// A wrong one is first tried without a crash, which gives traces that are easier to read.
func Scopes(v Variant) []Scope {
	if v != Right {
		return []Scope{{Variant: v, ClusterOps: 1, MachineOps: 2}, {Variant: v, Crashes: 2, ClusterOps: 1, MachineOps: 1}}
	}
	return []Scope{
		{Variant: v, Crashes: 2, ClusterOps: 1, MachineOps: 1},
		{Variant: v, ClusterOps: 1, MachineOps: 2, Changes: 1},
	}
}

// Report is what a check found.
type Report struct {
	States int // different ones
	Steps  int // transitions between them
	Took   time.Duration
	// Violation is what is wrong, and Trace the shortest way to it; "" is nothing.
	Violation string
	Trace     []Event
	// MostOvertaken is how many Jobs of one machine began while the cluster held its lease and waited, in the worst case without a crash.
	MostOvertaken int
	Whole         bool // every state was looked at
}

// node is a state that was reached, and how.
type node struct {
	parent int32
	action action
}

// search is a check under way: breadth first, so that the first fault found is the shortest way to one.
type search struct {
	scope  Scope
	seen   map[key]int32
	nodes  []node
	next   []queued
	steps  []edge
	ends   []int32 // states in which all operations are done
	report Report
}

// edge is a step from a state to another.
type edge struct{ from, to int32 }

type queued struct {
	world world
	at    int32
}

// Check looks at every state that can be reached, or at those up to the first violation.
func Check(ctx context.Context, s Scope) (Report, error) {
	begun := time.Now()
	c := &search{scope: s, seen: map[key]int32{}}
	start := c.start()
	c.visit(start, -1, action{})
	for len(c.next) > 0 && c.report.Violation == "" {
		level := c.next
		c.next = nil
		for i := range level {
			if i%1024 == 0 && ctx.Err() != nil {
				return c.report, ctx.Err()
			}
			if c.expand(level[i]); c.report.Violation != "" {
				c.report.States, c.report.Took = len(c.nodes), time.Since(begun)
				return c.report, nil
			}
		}
	}
	if stuck := c.stuck(); stuck >= 0 {
		c.report.Violation, c.report.Trace = "from here on, not all operations can be done any more", c.trace(c.settled(c.path(stuck)))
	}
	c.report.States, c.report.Took, c.report.Whole = len(c.nodes), time.Since(begun), true
	return c.report, nil
}

func (c *search) start() world {
	var w world
	for a := range w.actors {
		w.actors[a].due = true
	}
	return w
}

// visit queues a world that was not seen before.
func (c *search) visit(w world, from int32, by action) {
	k := w.key()
	if at, known := c.seen[k]; known {
		c.steps = append(c.steps, edge{from, at})
		return
	}
	at := int32(len(c.nodes))
	c.seen[k] = at
	if from >= 0 {
		c.steps = append(c.steps, edge{from, at})
	}
	if c.done(&w) {
		c.ends = append(c.ends, at)
	}
	c.nodes = append(c.nodes, node{from, by})
	c.next = append(c.next, queued{w, at})
}

// expand takes every step that can be taken in a world.
func (c *search) expand(q queued) {
	for _, by := range c.actions(&q.world) {
		w := q.world
		wrong := c.act(&w, by)
		c.report.Steps++
		if wrong != "" {
			c.nodes = append(c.nodes, node{q.at, by})
			c.report.Violation, c.report.Trace = wrong, c.trace(c.path(int32(len(c.nodes)-1)))
			return
		}
		c.visit(w, q.at, by)
	}
}

func (c *search) ops(a int) int8 {
	if a == cluster {
		return int8(c.scope.ClusterOps)
	}
	return int8(c.scope.MachineOps)
}

func (c *search) done(w *world) bool {
	for a := range w.actors {
		if w.actors[a].ops < c.ops(a) {
			return false
		}
	}
	return true
}

// resume runs the actor's pass again with the answers it has had, and keeps what it asks next. A pass that ends waits for its next.
func (c *search) resume(w *world, a int) gate.Result {
	for {
		act := &w.actors[a]
		v := &view{answers: act.answers}
		g := gate.Gate{API: v, Now: func() time.Time { return clock }}
		op := gate.Operation{Object: objects[a], Op: gate.Apply, Job: jobNames[act.passFor], Deadline: gate.DefaultDeadline}
		result, err := c.scope.Variant.pass(context.Background(), g, op, job{v, act.passFor})
		if v.pending.verb == none {
			c.end(w, a, result, err)
			return result
		}
		act.pending = v.pending
		if !w.local(a, v.pending) {
			return gate.Result{}
		}
		c.reply(w, a)
	}
}

// reply answers what the actor has asked, and reports the answer.
func (c *search) reply(w *world, a int) answer {
	act := &w.actors[a]
	got := w.answer(act.pending, c.scope.Variant == StaleList)
	act.answers = append(act.answers[:len(act.answers):len(act.answers)], got)
	return got
}

// end is the end of a pass.
func (c *search) end(w *world, a int, result gate.Result, err error) {
	act := &w.actors[a]
	if err != nil {
		panic(fmt.Sprintf("a pass of %s failed: %v", nicknames[a], err))
	}
	finished := result.Finished && act.passFor == w.wanted(a)
	act.passing, act.answers, act.pending, act.passFor = false, nil, request{}, 0
	if finished {
		act.ops++
		if act.ops < c.ops(a) {
			act.want++
			act.due = true
		}
	}
}

// Find checks a variant in each of its scopes, up to the first violation; of a right one it returns the last report.
func Find(ctx context.Context, v Variant) (r Report, err error) {
	for _, scope := range Scopes(v) {
		if r, err = Check(ctx, scope); err != nil || r.Violation != "" {
			return r, err
		}
	}
	return r, nil
}
