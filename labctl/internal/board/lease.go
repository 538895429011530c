package board

import (
	"slices"
	"sort"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// Turn says what a write of the Lease did.
type Turn int

// The turns of a Lease.
const (
	Found   Turn = iota // the record as it was when the watching began
	Renewed             // its holder wrote it again
	Freed               // it has no holder any more
	Taken               // it had no holder and has one
	Expired             // another holder took it, after the record had stood for LeaseDuration
	Stolen              // another holder has it, although the record was valid
	Removed             // the object is gone
	Lost                // the watching ended; the record is the last one known
	Missing             // the object was not there when the watching began
)

// write is one write of the Lease.
type write struct {
	at    float64
	wall  time.Time
	lease *timeline.Lease // nil after Removed and Missing
	turn  Turn
	// renewed is when the holder wrote it, on the run's clock.
	renewed float64
}

// clockSlack is how much earlier than LeaseDuration an expiry may appear; see timeline.Measure.
const clockSlack = 1.1

// lease takes a write of the Lease.
func (b *Board) lease(e timeline.Event) {
	w := write{at: e.Seconds, wall: e.Wall, lease: e.Lease, turn: Found}
	var before write
	if n := len(b.writes); n > 0 {
		before = b.writes[n-1]
	}
	switch {
	case e.Kind == timeline.LeaseGone:
		w.turn, w.lease = Removed, nil
	case before.lease == nil:
		if (before.turn == Removed || before.turn == Missing) && w.lease.Holder != "" {
			w.turn = Taken
		}
	case before.turn != Lost:
		w.turn = b.turned(before, w)
		if w.turn == Renewed && same(*w.lease, *before.lease) {
			return // listed again, or something beside its record was written
		}
	}
	w.renewed = b.renewedAt(before, w)
	if w.turn == Renewed {
		w.lease.Holder = before.lease.Holder // one string for all
		if w.lease.Holder != "" && (before.turn != Found || before.renewed < before.at) {
			b.pauses = tail(append(b.pauses, w.renewed-before.renewed), 16)
		}
	}
	if w.lease != nil && (before.lease == nil || before.turn == Lost || w.lease.Holder != before.lease.Holder) {
		b.handOver(w)
	}
	if w.lease == nil && b.holder != nil {
		b.holder.holds.close(w.at)
		b.holder = nil
	}
	b.writes = append(b.writes, w)
	if len(b.writes)%256 == 0 {
		b.trim(e.Seconds - remember)
	}
}

// same reports whether two writes have the same record, as the candidates compare it.
func same(a, b timeline.Lease) bool {
	if a.ResourceVersion == b.ResourceVersion && a.ResourceVersion != "" {
		return true
	}
	return a.Holder == b.Holder && a.LeaseDurationSeconds == b.LeaseDurationSeconds && a.Transitions == b.Transitions &&
		!a.RenewTime.IsZero() && a.RenewTime.Equal(b.RenewTime) && a.AcquireTime.Equal(b.AcquireTime)
}

// future is how far ahead of the observer's clock a renewTime may be that is still taken for the present, in seconds.
const future = 1.0

// renewedAt is when a record was written by its holder: by its renewTime where the clocks are one, else by its arrival. So is
// one that was written without a new renewTime, or with one of the future: by no candidate.
func (b *Board) renewedAt(before, w write) float64 {
	switch {
	case w.lease == nil, !b.config.SharedClock, w.lease.RenewTime.IsZero(), w.wall.Sub(w.lease.RenewTime).Seconds() < -future:
		return w.at
	case before.lease != nil && before.turn != Lost && before.lease.RenewTime.Equal(w.lease.RenewTime):
		return w.at
	}
	return min(w.at, w.at-w.wall.Sub(w.lease.RenewTime).Seconds())
}

// turned is what a write did to the record before it. How old a record is that was there already may not be known: then
// nobody can be said to have taken it too early.
func (b *Board) turned(before, now write) Turn {
	old := before.lease
	switch {
	case now.lease.Holder == old.Holder:
		return Renewed
	case now.lease.Holder == "":
		return Freed
	case old.Holder == "":
		return Taken
	case now.at-before.renewed >= float64(old.LeaseDurationSeconds)-clockSlack, before.turn == Found && !b.config.SharedClock:
		return Expired
	default:
		return Stolen
	}
}

// handOver closes the old holder's span and opens the new one's.
func (b *Board) handOver(w write) {
	old := b.holder
	if old != nil {
		old.holds.close(w.at)
		if w.turn == Freed {
			old.mark(w.at, MarkReleased)
		}
	}
	b.holder = nil
	if w.lease.Holder == "" {
		return
	}
	r := b.named(w.lease.Holder, w.at)
	b.holder = r
	r.holds.open(w.at)
	switch w.turn {
	case Taken:
		r.mark(w.at, MarkTaken)
	case Expired:
		r.mark(w.at, MarkExpired)
	case Stolen:
		r.mark(w.at, MarkStolen)
	}
	b.begin(r, w.at)
}

// writeAt returns the index of the last write at or before a moment; -1 if there was none.
func (b *Board) writeAt(at float64) int {
	return sort.Search(len(b.writes), func(i int) bool { return b.writes[i].at > at }) - 1
}

// trim forgets what ended before a moment.
func (b *Board) trim(before float64) {
	if i := b.writeAt(before); i > 0 {
		b.writes = slices.Clone(b.writes[i:])
	}
	b.replicas = slices.DeleteFunc(b.replicas, func(r *replica) bool { return r != b.holder && b.until(r) < before })
	b.failovers = slices.DeleteFunc(b.failovers, func(f *Failover) bool { return f.Ended && f.T0 < before })
	b.away = slices.DeleteFunc(b.away, func(s span) bool { return s.to < before })
	for _, r := range b.replicas {
		if r.podGone < b.last.Seconds-linesOfGone {
			r.lines = tail(r.lines, 20)
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
