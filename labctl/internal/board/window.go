package board

import (
	"math"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Window is when the Lease can change hands, in seconds since the last renewal.
type Window struct {
	Now                                       float64
	RenewDeadline, LeaseDuration, RetryPeriod float64
	// Earliest and Latest bound the takeover, as the model gives it for Class.
	Earliest, Latest float64
	Class            timeline.Class
	// Fault is when the fault was issued or first seen; Free when the Lease could be taken by nobody else's leave: the
	// release, or the end of the process. Landed is the takeover. Each is NaN if it was not seen.
	Fault, Free, Landed float64
	// Failover is the one that it belongs to; nil while nothing is wrong.
	Failover *Failover
}

// Windows returns the window of this moment, and that of the last failover that is over, nil if there is none.
func (b *Board) Windows(at float64) (now *Window, last *Window) {
	for i := len(b.failovers) - 1; i >= 0; i-- {
		f := b.failovers[i].seen(at)
		if f == nil {
			continue
		}
		w := b.windowOf(f, at)
		if math.IsNaN(w.Landed) && !f.Ended {
			return w, nil
		}
		if !math.IsNaN(w.Landed) {
			last = w
		}
		break
	}
	i := b.writeAt(at)
	if i < 0 || b.writes[i].turn == Lost || b.writes[i].lease == nil || b.writes[i].lease.Holder == "" || !b.sure(i, at) {
		return nil, last
	}
	w := b.plain(b.writes[i].renewed, at)
	if w.LeaseDuration <= 0 {
		return nil, last
	}
	lease, retry := w.LeaseDuration, w.RetryPeriod
	w.Class, w.Earliest, w.Latest = timeline.Expired, lease, lease+2*gap.LongestPause*retry
	if b.elected() {
		w.Latest = gap.Range(b.config.Input(fault.Kill, b.standbys(at)), timeline.Expired).MaxSeconds
		return w, last
	}
	if !b.config.Followed && b.standbys(at) == 0 { // a replacement has to be made first
		start := b.config.ReplacementStart()
		w.Earliest, w.Latest = w.Now+start+lease, w.Now+start+lease+gap.LongestPause*retry
	}
	return w, last
}

// whyNoWindow says why nothing can be told of the next takeover; "" if something can.
func (b *Board) whyNoWindow(s Snapshot) string {
	switch {
	case s.Now != nil:
		return ""
	case s.Lost > 0:
		return "nothing is watched"
	case s.Lease == nil:
		return "no Lease is held"
	case s.Lease.Holder == "":
		return "nobody holds the Lease: any candidate takes it at its next poll"
	case s.Lease.LeaseDurationSeconds <= 0:
		return "none: the record has no leaseDurationSeconds"
	default:
		return "none: no renewal was seen, so it is not known when it expires"
	}
}

// standbys counts the replicas that live and do not hold the Lease.
func (b *Board) standbys(at float64) (n int) {
	for _, r := range b.replicas {
		if r.alive.at(at) && !r.holds.at(at) {
			n++
		}
	}
	return n
}

func (b *Board) plain(anchor, at float64) *Window {
	t := b.Config().Timing
	return &Window{Now: at - anchor, RenewDeadline: t.RenewDeadline.Seconds(), LeaseDuration: t.LeaseDuration.Seconds(), RetryPeriod: t.RetryPeriod.Seconds(),
		Fault: math.NaN(), Free: math.NaN(), Landed: math.NaN()}
}

// windowOf is the window of a failover: the predicted range, counted from where the model counts, and narrowed by what was
// seen since: the age of the last renewal, the standbys' polls, and that nobody took it so far.
func (b *Board) windowOf(f *Failover, at float64) *Window {
	w := b.plain(f.Anchor, at)
	w.Failover, w.Class, w.Fault = f, f.Class, f.T0-f.Anchor
	from, free := timeline.T3, w.Fault
	if f.Class == timeline.Released {
		from = timeline.T4
	}
	if t, ok := f.Trial.Instant(from); ok {
		free = w.Fault + t
		w.Free = free
	}
	if f.Predicted.MaxSeconds > 0 {
		w.Earliest, w.Latest = free+f.Predicted.MinSeconds, free+f.Predicted.MaxSeconds
	}
	if f.Class == timeline.Expired && len(f.Fault.Standbys) > 0 && !b.elected() {
		w.Earliest, w.Latest = b.expiry(f, w, at)
	}
	if t, ok := f.Trial.Instant(timeline.T5); ok {
		w.Landed = w.Fault + t
	} else {
		if w.Now < w.Latest {
			w.Earliest = max(w.Earliest, w.Now) // nobody took it so far
		}
	}
	return w
}

// elected reports whether the API server elects, and nobody's polls decide.
func (b *Board) elected() bool { return b.config.Election == api.ElectionCoordinated }

// expiry is the range of a takeover by expiry. A standby counts LeaseDuration from its first poll after the last renewal,
// which comes within one longest pause, and takes the Lease at its first poll after that.
func (b *Board) expiry(f *Failover, w *Window, at float64) (earliest, latest float64) {
	pause := gap.LongestPause * w.RetryPeriod
	firstEarliest, firstLatest := forever, forever
	for _, uid := range f.Fault.StandbyUIDs {
		poll, seen := b.firstPoll(uid, f.Anchor, at)
		if seen {
			firstEarliest, firstLatest = min(firstEarliest, poll), min(firstLatest, poll)
		} else {
			firstEarliest, firstLatest = min(firstEarliest, 0), min(firstLatest, pause)
		}
	}
	if firstEarliest == forever {
		return w.LeaseDuration, w.LeaseDuration + 2*pause
	}
	return w.LeaseDuration + firstEarliest, w.LeaseDuration + firstLatest + pause
}

// firstPoll is a replica's first poll after a moment that was seen by another one, counted from the first.
func (b *Board) firstPoll(uid string, after, at float64) (float64, bool) {
	r := b.byUID(uid)
	if r == nil {
		return 0, false
	}
	for _, p := range r.polls {
		if p > after && p <= at {
			return p - after, true
		}
	}
	return 0, false
}
