package board

import (
	"math"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// Snapshot is what was known at a moment.
type Snapshot struct {
	At   float64
	Wall time.Time
	// Known is whether something is known of the Lease; Lease is nil if it does not exist.
	Known bool
	Lease *timeline.Lease
	// Lost is since the watching ended, when Lease is the last one known; 0 while something is watched.
	Lost float64
	// Age is since the record was written by its holder, or released: by renewTime where the clocks are one, else by its
	// arrival. Ahead is how far in the future its renewTime is; 0 if it is not.
	Age, Ahead float64
	// Renewed is whether a renewal was seen, or is told by a renewTime that is not older than LeaseDuration.
	Renewed bool
	// Freed is whether the record was seen to be released by its holder; FreeFor since when it has none, 0 if it has one.
	Freed   bool
	FreeFor float64
	// Nobody is for how long nobody leads, as far as that was seen; 0 if somebody does, or may.
	Nobody float64
	// AtLeast is whether that began before it could be seen.
	AtLeast bool
	// HolderLives is whether the holder's process is known to live; HolderWorks whether it worked in the last half second.
	HolderLives, HolderWorks bool
	// Leaders are those that worked in the last half second.
	Leaders []string
	// Away is for how long the API server has not answered; 0 if it does.
	Away float64
	// Attempt numbers the question to it that waits for an answer, or is asked in NextAttempt seconds if that is positive;
	// 0 if that is not known.
	Attempt     int
	NextAttempt float64
	// Heard is how long ago the last event came.
	Heard     float64
	Now, Last *Window
	// NoWindow says why there is no Now.
	NoWindow  string
	Failovers []*Failover // the last one first
}

// lately is how far back work counts as present, in seconds: a few ticks.
const lately = 0.5

// At returns what was known at a moment.
func (b *Board) At(at float64) Snapshot {
	s := Snapshot{At: at, Wall: b.Wall(at), Heard: max(0, at-b.last.Seconds)}
	b.record(&s)
	var holder *replica
	for _, r := range b.replicas {
		works := r.from <= at && r.work.within(at-lately, at+Tick)
		if r.from <= at && r.holds.at(at) {
			holder, s.HolderLives, s.HolderWorks = r, r.alive.at(at) || b.config.Followed, works
		}
		if works {
			s.Leaders = append(s.Leaders, r.pod.Name)
		}
	}
	for _, a := range b.away {
		if a.from <= at && at < a.to {
			s.Away = at - a.from
			s.Attempt, s.NextAttempt = b.attempt(a.from, at)
		}
	}
	s.Now, s.Last = b.Windows(at)
	s.NoWindow = b.whyNoWindow(s)
	if !b.config.Lock {
		s.Nobody = b.nobody(s, holder)
	}
	s.AtLeast = s.Nobody > 0 && !s.Freed && b.blind(at-s.Nobody)
	for _, f := range slices.Backward(b.failovers) {
		if seen := f.seen(at); seen != nil {
			s.Failovers = append(s.Failovers, seen)
		}
	}
	return s
}

// record is what the Lease says, and how old that is.
func (b *Board) record(s *Snapshot) {
	i := b.writeAt(s.At)
	if i < 0 {
		return
	}
	w := b.writes[i]
	s.Known, s.Lease = true, w.lease
	if w.turn == Lost {
		s.Lost = max(s.At-w.at, math.SmallestNonzeroFloat64)
		if i--; i < 0 {
			return
		}
		w = b.writes[i]
	}
	if s.Lease == nil {
		return
	}
	s.Age = s.At - w.renewed
	if b.config.SharedClock && !s.Lease.RenewTime.IsZero() {
		s.Age = max(0, s.At-w.at+w.wall.Sub(s.Lease.RenewTime).Seconds())
		if ahead := s.Lease.RenewTime.Sub(s.Wall).Seconds(); ahead > future {
			s.Ahead = ahead
		}
	}
	if s.Lease.Holder != "" {
		s.Renewed = b.sure(i, s.At)
		return
	}
	for i > 0 && b.writes[i-1].lease != nil && b.writes[i-1].lease.Holder == "" && b.writes[i].turn == Renewed {
		i--
	}
	s.FreeFor, s.Freed = max(s.At-b.writes[i].at, math.SmallestNonzeroFloat64), b.writes[i].turn == Freed
}

// sure reports whether a write in a holder's name tells that it renewed: it was seen to be written, or its renewTime says so.
func (b *Board) sure(i int, at float64) bool {
	w := b.writes[i]
	if w.turn != Found {
		return true
	}
	return b.config.SharedClock && !w.lease.RenewTime.IsZero() && w.wall.Sub(w.lease.RenewTime).Seconds() >= -future && at-w.renewed <= float64(w.lease.LeaseDurationSeconds)
}

// sureAt is the same of the last write at or before a moment.
func (b *Board) sureAt(at float64) bool {
	i := b.writeAt(at)
	return i >= 0 && b.writes[i].lease != nil && b.sure(i, at)
}

// blind reports whether a moment is when the watching began, or began again: what was then had begun before.
func (b *Board) blind(at float64) bool {
	if at <= b.began+opening {
		return true
	}
	for _, s := range b.lost {
		if at >= s.from && at <= s.to+opening {
			return true
		}
	}
	return false
}

// nobody is for how long nobody leads: since the release, since the end of the process that the record names, or, where it
// names one that never had a process, since somebody worked last.
func (b *Board) nobody(s Snapshot, holder *replica) float64 {
	switch {
	case !s.Known || s.Lease == nil || s.Lost > 0 || s.Away > 0 || len(s.Leaders) > 1:
		return 0
	case s.FreeFor > 0:
		return s.FreeFor
	case s.Now != nil && s.Now.Failover != nil && !math.IsNaN(s.Now.Free):
		return s.Now.Now - s.Now.Free
	case holder == nil || s.HolderLives || len(s.Leaders) > 0 || len(holder.alive) == 0 && holder.pod.UID != "":
		return 0
	case holder.pod.UID == "" && s.At-holder.from < opening: // its pod may still be told
		return 0
	}
	since := holder.from
	for _, r := range b.replicas {
		if last, worked := r.work.last(s.At); worked {
			since = max(since, last+Tick)
		}
	}
	for _, spans := range []spans{holder.alive, holder.holds} {
		for _, span := range spans {
			if span.from <= s.At && span.to <= s.At {
				since = max(since, span.to)
			}
		}
	}
	if n := len(holder.holds); n > 0 && holder.holds[n-1].from <= s.At {
		since = max(since, holder.holds[n-1].from)
	}
	return max(s.At-since, math.SmallestNonzeroFloat64)
}
