package model

import (
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/operator/lease/gate"
)

// Event is one step of a trace.
type Event struct {
	Seconds int // since the beginning: only ticks take time
	Actor   string
	Text    string
	// Lease is the cluster lease's holder after the step; "" is nobody.
	Holder string
}

// path is the shortest way to a state, from the beginning.
func (c *search) path(to int32) (path []action) {
	for at := to; at > 0; at = c.nodes[at].parent {
		path = append(path, c.nodes[at].action)
	}
	slices.Reverse(path)
	return path
}

// settled is a way that goes on until everybody waits: what a state that can't end comes to.
func (c *search) settled(path []action) []action {
	walker := &search{scope: c.scope}
	w := c.start()
	for _, by := range path {
		walker.act(&w, by)
	}
	for {
		can := walker.actions(&w)
		i := slices.IndexFunc(can, func(by action) bool { return by.deed == respond || by.deed == begin })
		if i < 0 {
			return path
		}
		walker.act(&w, can[i])
		path = append(path, can[i])
	}
}

// trace tells a way from the beginning.
func (c *search) trace(path []action) []Event {
	teller := &search{scope: c.scope}
	w := c.start()
	var told []Event
	seconds := 0
	for _, by := range path {
		before := w
		wrong := teller.act(&w, by)
		if by.deed == tick {
			seconds += int(step.Seconds())
		}
		text := tell(&before, &w, by, c.scope.Variant == StaleList)
		if wrong != "" {
			text += " — " + wrong
		}
		e := Event{Seconds: seconds, Actor: nicknames[by.actor], Text: text, Holder: jobNames[w.leases[clusterLease].holder]}
		if by.deed == tick {
			e.Actor = "time"
		}
		told = append(told, e)
	}
	return told
}

// tell says what a step was; stale is whether a list comes from a cache.
func tell(before, after *world, by action, stale bool) string {
	switch by.deed {
	case begin:
		return "reconcile for Job " + jobNames[before.wanted(int(by.actor))]
	case finish:
		return "Job " + jobNames[by.job] + " finishes"
	case crash:
		return "the manager crashes; the next one is there at once"
	case away:
		return "the manager crashes; none is there for longer than the grace"
	case change:
		return "the inputs change: the Job that is wanted is now " + jobNames[after.wanted(cluster)]
	case tick:
		return fmt.Sprintf("%.0f seconds pass", step.Seconds())
	}
	act := &before.actors[by.actor]
	now := &after.actors[by.actor]
	said := tellRequest(before, act.pending)
	if act.pending.verb == listRuns {
		said += listed(before.answer(act.pending, stale), int(by.actor), stale)
	}
	if !now.passing && after.jobs[act.passFor] == gate.Absent {
		said += "; waits"
	}
	return said
}

// tellRequest says what a request does, and finds.
func tellRequest(w *world, r request) string {
	name := func(which int8) string {
		if which == clusterLease {
			return "the cluster lease"
		}
		return "the run lease of " + nicknames[which]
	}
	switch r.verb {
	case createLease:
		return "takes " + name(r.lease) + " for Job " + jobNames[r.job] + ": created"
	case updateLease:
		return "takes " + name(r.lease) + " for Job " + jobNames[r.job] + ": updated"
	case deleteLease:
		return "gives back " + name(r.lease)
	case getLease:
		return "reads " + name(r.lease) + ": " + held(w.leases[r.lease])
	case listRuns:
		return "lists the run leases"
	case listOwned:
		return "lists its leases"
	case getJob:
		return "reads Job " + jobNames[r.job] + ": " + [...]string{"there is none", "it runs", "it has finished"}[w.jobs[r.job]]
	case createJob:
		return "creates Job " + jobNames[r.job]
	default:
		return "counts Job " + jobNames[r.job]
	}
}

// listed says which run leases an actor finds in a list beside its own.
func listed(got answer, own int, stale bool) string {
	var found []string
	for a, l := range got.leases[:actors] {
		if l.exists && a != own {
			found = append(found, nicknames[a])
		}
	}
	said := ": none of a machine"
	if len(found) > 0 {
		said = ": of " + strings.Join(found, " and ")
	}
	if stale {
		said = ", as its cache has them" + said
	}
	return said
}

func held(l lease) string {
	if !l.exists {
		return "there is none"
	}
	return "held by Job " + jobNames[l.holder]
}
