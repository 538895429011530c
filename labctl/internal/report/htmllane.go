package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// while is a stretch of a trial, in seconds after T0.
type while struct{ from, to float64 }

// candidate is who held the Lease or worked around a trial.
type candidate struct {
	identity     string
	holds, works []while
}

// workPause is up to which pause the work of a leader is drawn as one stretch, as it is measured: in a longer one it was stopped.
const workPause = 0.5

// mostCandidates bounds the lanes of a picture, and mostWhiles the stretches of one lane that its table has.
const (
	mostCandidates = 12
	mostWhiles     = 12
)

// recording is a trial's events, put on its own clock.
type recording struct {
	fault  timeline.Fault
	t0     float64
	end    float64 // when the trial was ended
	own    []candidate
	ticks  map[string][]float64
	holder string
	holes  []while
}

// record reads who held and who worked. It is not ok without the fault.
func record(events []timeline.Event) (r recording, ok bool) {
	for _, e := range events {
		if e.Kind == timeline.FaultIssued && e.Fault != nil {
			r.t0, r.fault, ok = e.Seconds, *e.Fault, true // the last one is this trial's
		}
	}
	r.ticks = map[string][]float64{}
	for _, e := range events {
		e = e.Visible()
		at := e.Seconds - r.t0
		r.end = max(r.end, at)
		switch {
		case e.Kind == timeline.LeaseSeen && e.Lease != nil:
			r.held(e.Lease.Holder, at)
		case e.Kind == timeline.LeaseGone:
			r.held("", at)
		case e.Kind == timeline.WorkSeen && e.Work != nil:
			r.worked(e.Work.Holder, r.written(e, e.Work.At))
		case e.Kind == timeline.LogLine && e.Log != nil && e.Log.Message == api.MessageReconcile:
			r.worked(cmp.Or(e.Log.Identity, e.Log.Pod), r.written(e, e.Log.Time))
		case e.Kind == timeline.WatchHole:
			r.holes = append(r.holes, while{at - e.HoleSeconds, at})
		}
	}
	r.held("", r.end)
	for _, c := range r.own {
		i := r.lane(c.identity)
		r.own[i].works = stretches(r.ticks[c.identity])
	}
	return r, ok
}

// written is when something was written, by the trial's clock; when it arrived, where the clocks are not one.
func (r *recording) written(e timeline.Event, at time.Time) float64 {
	if !r.fault.SharedClock || at.IsZero() {
		return e.Seconds - r.t0
	}
	return e.Seconds - r.t0 - e.Wall.Sub(at).Seconds()
}

// lane is the number of a candidate.
func (r *recording) lane(identity string) int {
	i := slices.IndexFunc(r.own, func(c candidate) bool { return c.identity == identity })
	if i < 0 {
		r.own = append(r.own, candidate{identity: identity})
		i = len(r.own) - 1
	}
	return i
}

func (r *recording) held(holder string, at float64) {
	if r.holder != "" {
		holds := &r.own[r.lane(r.holder)].holds
		(*holds)[len(*holds)-1].to = at
	}
	if holder != "" && holder != r.holder {
		i := r.lane(holder)
		r.own[i].holds = append(r.own[i].holds, while{at, at})
	}
	r.holder = holder
}

func (r *recording) worked(identity string, at float64) {
	if identity != "" {
		r.lane(identity)
		r.ticks[identity] = append(r.ticks[identity], at)
	}
}

// stretches joins ticks of work; a single one lasts a tick.
func stretches(ticks []float64) []while {
	slices.Sort(ticks)
	var out []while
	for _, at := range ticks {
		if n := len(out); n > 0 && at-out[n-1].to <= workPause {
			out[n-1].to = at
			continue
		}
		out = append(out, while{at, at})
	}
	for i := range out {
		out[i].to = max(out[i].to, out[i].from+api.WorkTick.Seconds())
	}
	return out
}

// within cuts stretches to a window, joins those that can't be told apart in it, and leaves out the others.
func within(stretches []while, window while) []while {
	var out []while
	for _, s := range stretches {
		s = while{max(s.from, window.from), min(s.to, window.to)}
		if !(s.to > s.from) {
			continue
		}
		if n := len(out); n > 0 && s.from-out[n-1].to < (window.to-window.from)/1000 {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// cutAt splits stretches at a moment.
func cutAt(stretches []while, at float64) (before, after []while) {
	for _, s := range stretches {
		if s.from < at {
			before = append(before, while{s.from, min(s.to, at)})
		}
		if s.to > at {
			after = append(after, while{max(s.from, at), s.to})
		}
	}
	return before, after
}

// window is what of the trial is drawn: from a little before the command until a little after all of it was decided.
func (r *recording) window(t timeline.Trial, retry float64) while {
	margin := max(1, min(retry, 60))
	last := 0.0
	for _, name := range timeline.Instants() {
		if at, seen := t.Instant(name); seen {
			last = max(last, at)
		}
	}
	if t.Void != "" {
		last = max(last, r.end)
	}
	for _, c := range r.own {
		if c.identity == t.HolderBefore && t.OverlapSeconds != nil && *t.OverlapSeconds > 0 {
			for _, w := range c.works {
				last = max(last, w.to)
			}
		}
	}
	return while{-margin, min(last+margin, max(r.end, last))}
}

// overlaps are the old leader's work since the new one's first.
func (r *recording) overlaps(t timeline.Trial) []while {
	if t.OverlapSeconds == nil || *t.OverlapSeconds <= 0 || t.HolderAfter == nil || *t.HolderAfter == t.HolderBefore {
		return nil
	}
	begun := r.own[r.lane(*t.HolderAfter)].works
	if _, begun = cutAt(begun, 0); len(begun) == 0 {
		return nil
	}
	_, after := cutAt(r.own[r.lane(t.HolderBefore)].works, begun[0].from)
	return after
}

// role says what a candidate was in a trial.
func role(identity string, t timeline.Trial) string {
	switch {
	case t.HolderAfter != nil && identity == *t.HolderAfter && identity == t.HolderBefore:
		return "the holder, before and after"
	case identity == t.HolderBefore:
		return "the holder before"
	case t.HolderAfter != nil && identity == *t.HolderAfter && t.Winner != "":
		return "the next holder, " + string(t.Winner)
	case t.HolderAfter != nil && identity == *t.HolderAfter:
		return "the next holder"
	default:
		return "a candidate"
	}
}

// moments are stretches in words.
func moments(stretches []while) string {
	if len(stretches) == 0 {
		return "not seen"
	}
	var out []string
	for i, s := range stretches {
		if i == mostWhiles {
			out = append(out, fmt.Sprintf("and %d more", len(stretches)-i))
			break
		}
		out = append(out, strings.ReplaceAll(fmt.Sprintf("%.2f … %.2f s", s.from, s.to), "-", "−"))
	}
	return strings.Join(out, "; ")
}
