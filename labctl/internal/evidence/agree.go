package evidence

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/timeline"
)

// Tolerances of what one machine writes down. Where nothing was changed, the two clocks of an event differ by less than a
// tenth of a millisecond from each other, and nothing arrives before it was written.
const (
	apart  = 0.05            // seconds that the monotonic and the wall clock may drift apart between two events
	early  = 0.02            // seconds that something may arrive before it was written, by one clock
	skewed = 3600.0          // seconds from which on a time is one that somebody wrote on purpose, as in the exercise on skewed clocks
	late   = 2 * time.Second // in which the pause of a machine is noted after its clock jumped
)

// agrees holds the events against each other and against run.json: each was stamped by two clocks, most tell a time of
// their source's, and the API server numbers what it writes.
func (v *verifying) agrees(r lab.Record) {
	file := RunPath(r.Path, eventsFile)
	v.begins(r)
	if jumped := v.clocks(file, r.Events); !jumped && shared(r.Events) {
		v.sources(file, r.Events)
	}
	v.versions(file, r.Events)
	v.modes(r)
}

// begins compares the run's beginning with its first event.
func (v *verifying) begins(r lab.Record) {
	if len(r.Events) == 0 {
		return
	}
	first := r.Events[0]
	if d := first.Wall.Sub(r.Info.StartedAt).Seconds() - first.Seconds; math.Abs(d) > apart {
		v.findings.fail(Contradiction, RunPath(r.Path, runFile), "it says that the run began at %s; by its first event it began %.3f s later", r.Info.StartedAt.Format(time.RFC3339Nano), d)
	}
}

// clocks compares the two clocks of the events. It reports whether the wall clock jumped, as it does when the machine slept or its
// clock was set: then source times prove nothing.
func (v *verifying) clocks(file string, events []timeline.Event) (jumped bool) {
	offset := func(i int) float64 { return float64(events[i].Wall.UnixNano())/1e9 - events[i].Seconds }
	was := []float64{}
	for i := range events {
		now := offset(i)
		if len(was) == 0 {
			was = append(was, now)
			continue
		}
		d := now - was[len(was)-1]
		if math.Abs(d) <= apart {
			continue
		}
		alone := i+1 < len(events) && math.Abs(offset(i+1)-now) > apart
		back := false
		for _, earlier := range was[:len(was)-1] {
			back = back || math.Abs(now-earlier) <= apart
		}
		if alone || back {
			v.findings.fail(Contradiction, file, "line %d: its two clocks contradict those of the lines around it by %.3f s", i+1, d)
			return true
		}
		if !slept(events, i) {
			v.findings.unknown(Clock, file, "line %d: the clock jumps by %.3f s, and no pause of the machine is recorded: it was set, or the times were edited", i+1, d)
		}
		was, jumped = append(was, now), true
		if len(was) > mostJumps {
			return true
		}
	}
	return jumped
}

// mostJumps is after how many jumps of the clock nobody looks on.
const mostJumps = 20

// slept reports whether a pause of the machine is recorded near an event.
func slept(events []timeline.Event, i int) bool {
	for j := max(0, i-50); j < min(len(events), i+50); j++ {
		if events[j].Kind == timeline.WatchHole && math.Abs(events[j].Seconds-events[i].Seconds) < late.Seconds() {
			return true
		}
	}
	return false
}

// shared reports whether the sources' clock is the observer's.
func shared(events []timeline.Event) bool {
	for _, e := range events {
		if e.Kind == timeline.FaultIssued {
			return e.Fault.SharedClock
		}
	}
	return false
}

// sources looks for events that arrived before their source wrote them.
func (v *verifying) sources(file string, events []timeline.Event) {
	thieves := map[string]bool{}
	for _, e := range events {
		if e.Fault != nil && e.Fault.Thief != "" {
			thieves[e.Fault.Thief] = true
		}
	}
	for i, e := range events {
		for _, s := range written(e, thieves) {
			if d := s.at.Sub(e.Wall).Seconds(); !s.at.IsZero() && d > early && d < skewed {
				v.findings.fail(Contradiction, file, "line %d: %s was seen %.3f s before it was written", i+1, s.what, d)
				return
			}
		}
	}
}

// stamp is a time that an event's source wrote down.
type stamp struct {
	what string
	at   time.Time
}

// written are the times that an event's sources wrote down. Those of a thief's record are nobody's clock.
func written(e timeline.Event, thieves map[string]bool) []stamp {
	var out []stamp
	if e.Lease != nil && !thieves[e.Lease.Holder] {
		out = append(out, stamp{"a renewal of the Lease", e.Lease.RenewTime}, stamp{"an acquisition of the Lease", e.Lease.AcquireTime})
	}
	if e.Process != nil {
		out = append(out, stamp{"a process's start or end", e.Process.At})
	}
	if e.Work != nil {
		out = append(out, stamp{"a leader's write", e.Work.At})
	}
	if e.Log != nil {
		out = append(out, stamp{"a line of a log", e.Log.Time})
	}
	if e.Request != nil {
		out = append(out, stamp{"the answer to a request", e.Request.Answered})
	}
	return out
}

// versions holds the Lease's writes against the numbers that the API server gave them.
func (v *verifying) versions(file string, events []timeline.Event) {
	type write struct {
		version uint64
		text    string
	}
	newest := map[int]write{}
	for i, e := range events {
		if e.Kind == timeline.LeaseGone {
			delete(newest, e.Lane)
		}
		if e.Kind != timeline.LeaseSeen {
			continue
		}
		n, err := strconv.ParseUint(e.Lease.ResourceVersion, 10, 64)
		if err != nil {
			return // another API server's, which says nothing
		}
		now, last := write{n, fmt.Sprint(*e.Lease)}, newest[e.Lane]
		switch {
		case n < last.version:
			v.findings.fail(Contradiction, file, "line %d: a write of the Lease has number %d, and one before it %d", i+1, n, last.version)
			return
		case n == last.version && now.text != last.text:
			v.findings.fail(Contradiction, file, "line %d: two writes of the Lease have number %d, and are not alike", i+1, n)
			return
		}
		newest[e.Lane] = now
	}
}

// modes compares what was done with what was asked for.
func (v *verifying) modes(r lab.Record) {
	file := RunPath(r.Path, runFile)
	n, each := 0, max(1, r.Info.Trials)
	for _, e := range r.Events {
		if e.Kind != timeline.FaultIssued {
			continue
		}
		at := n / each
		n++
		known := false
		for i, m := range r.Info.Modes {
			known = known || m == e.Fault.Mode && (r.Info.Lanes > 1 || i == at)
		}
		if !known {
			v.findings.fail(Contradiction, file, "it asks for %v, %d of each; trial %d was of mode %s", r.Info.Modes, r.Info.Trials, n, e.Fault.Mode)
			return
		}
	}
}
