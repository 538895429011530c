package board

import (
	"academy.example/lab/labctl/internal/timeline"
)

// replica is one pod, or one identity of a Lease whose candidates are not known.
type replica struct {
	pod      timeline.Pod // without a UID: nothing but an identity
	from     float64      // first seen
	gone     float64      // its pod is gone, and its process; forever if not
	lost     float64      // nothing is heard of it since; forever if that is not so
	unheard  spans        // when nothing was
	podGone  float64
	exited   int
	told     bool // the node told of its process
	alive    spans
	holds    spans
	marks    []mark
	work     bits
	overlaps bits
	lines    []Line
	polls    []float64 // the last ones, by its own clock
}

// Line is a line of a replica's log that says more than that it works.
type Line struct {
	At    float64
	Level string
	Text  string
	Raw   string
	// Count is how often it came in a row, the last time at Last.
	Count int
	Last  float64
}

// Mark is something that happened to a replica at a moment.
type Mark int

// The marks.
const (
	MarkNone Mark = iota
	MarkStarted
	MarkRestarted
	MarkStopped
	MarkReleased // it gave the Lease up
	MarkTaken    // it took a free Lease
	MarkExpired  // it took an expired Lease
	MarkStolen   // it has a Lease that was another's and valid
)

type mark struct {
	at   float64
	what Mark
}

func (r *replica) mark(at float64, what Mark) { r.marks = tail(append(r.marks, mark{at, what}), 512) }

func (r *replica) line(l Line) { r.lines = tail(append(r.lines, l), 200) }

func (b *Board) add(pod timeline.Pod, at float64) *replica {
	r := &replica{pod: pod, from: at, gone: forever, podGone: forever, lost: forever}
	b.replicas = append(b.replicas, r)
	return r
}

func (b *Board) byUID(uid string) *replica {
	for i := len(b.replicas) - 1; i >= 0 && uid != ""; i-- {
		if b.replicas[i].pod.UID == uid {
			return b.replicas[i]
		}
	}
	return nil
}

// named returns the replica of an identity, and makes one that is nothing but the identity if no pod has it. It is nil for
// the empty identity.
func (b *Board) named(identity string, at float64) *replica {
	if identity == "" {
		return nil
	}
	for i := len(b.replicas) - 1; i >= 0; i-- {
		if r := b.replicas[i]; r.pod.UID != "" && r.pod.Holds(identity) {
			r.back(at)
			return r
		}
	}
	for i := len(b.replicas) - 1; i >= 0; i-- {
		if r := b.replicas[i]; r.pod.Name == identity && (r.gone == forever || r.lost != forever) {
			r.back(at)
			return r
		}
	}
	return b.add(timeline.Pod{Name: identity}, at)
}

func (b *Board) pod(e timeline.Event) {
	r := b.byUID(e.Pod.UID)
	if r == nil {
		if r = b.adopt(*e.Pod); r == nil {
			r = b.add(*e.Pod, e.Seconds)
		}
	}
	if r.lost != forever && e.Pod.Restarts > r.pod.Restarts {
		r.mark(e.Seconds, MarkRestarted)
	}
	r.back(e.Seconds)
	r.pod = *e.Pod
	switch {
	case e.Kind == timeline.PodGone:
		r.podGone = e.Seconds
		if !b.processes || !r.alive.at(e.Seconds) {
			if r.alive.at(e.Seconds) {
				r.mark(e.Seconds, MarkStopped)
			}
			r.alive.close(e.Seconds)
			r.gone = e.Seconds
		}
	case !r.told && (e.Pod.Ready || e.Pod.Phase == "Running") && !r.alive.at(e.Seconds):
		r.alive.open(e.Seconds)
	}
}

// adopt gives a pod the line of an identity that was seen before the pod was.
func (b *Board) adopt(pod timeline.Pod) *replica {
	for _, r := range b.replicas {
		if r.pod.UID == "" && r.gone == forever && pod.Holds(r.pod.Name) {
			return r
		}
	}
	return nil
}

func (b *Board) process(e timeline.Event) {
	b.processes = true
	r := b.byUID(e.Process.UID)
	if r == nil {
		r = b.add(timeline.Pod{Name: e.Process.Pod, UID: e.Process.UID}, e.Seconds)
	}
	r.back(e.Seconds)
	r.told = true
	if e.Kind == timeline.ProcessGone {
		r.alive.close(e.Seconds)
		r.exited = e.Process.ExitCode
		r.mark(e.Seconds, MarkStopped)
		if r.podGone != forever {
			r.gone = e.Seconds
		}
		return
	}
	r.alive.open(e.Seconds)
	if e.Process.Restarts > 0 {
		r.mark(e.Seconds, MarkRestarted)
	} else {
		r.mark(e.Seconds, MarkStarted)
	}
}

// term is the time of one holder, as far as its work is concerned.
type term struct {
	r     *replica
	from  float64
	first float64 // its first work; forever before that
}

// suspect is work of one who does not hold the Lease beside work of the one who does. The streams of the Lease and of the
// work are not one, so it is judged a little later.
type suspect struct {
	r        *replica
	at, seen float64
}

// suspectFor is how much later than its first work a takeover may be seen; slack is by how much work may seem to be
// earlier than its takeover.
const suspectFor, slack = 0.3, 0.5

func (b *Board) begin(r *replica, at float64) {
	kept := b.suspects[:0]
	for _, s := range b.suspects {
		if s.r != r {
			kept = append(kept, s)
		}
	}
	b.suspects = kept
	b.term = term{r: r, from: at, first: forever}
}

// works records one reconcile of a replica, and whether another one worked beside it.
func (b *Board) works(r *replica, at, seen float64) {
	r.work.set(at)
	switch {
	case r == b.term.r:
		if at >= b.term.from-slack {
			b.term.first = min(b.term.first, at)
		}
	case b.term.r != nil && at > b.term.first:
		b.suspects = append(b.suspects, suspect{r, at, seen})
	}
}

// confirm judges the suspects that are old enough.
func (b *Board) confirm(now float64) {
	kept := b.suspects[:0]
	for _, s := range b.suspects {
		if now-s.seen < suspectFor {
			kept = append(kept, s)
			continue
		}
		s.r.overlaps.set(s.at)
		b.term.r.overlaps.set(s.at)
	}
	b.suspects = kept
}
