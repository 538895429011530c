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
	// Known is whether the Lease was seen at all; Lease is nil if it does not exist.
	Known bool
	Lease *timeline.Lease
	// Age is since the last renewal: by renewTime where the clocks are one, else by its arrival.
	Age float64
	// FreeFor is since the Lease has no holder; 0 if it has one.
	FreeFor float64
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
	Failovers []*Failover // the last one first
}

// lately is how far back work counts as present, in seconds: a few ticks.
const lately = 0.5

// At returns what was known at a moment.
func (b *Board) At(at float64) Snapshot {
	s := Snapshot{At: at, Wall: b.Wall(at), Heard: max(0, at-b.last.Seconds)}
	if i := b.writeAt(at); i >= 0 {
		w := b.writes[i]
		s.Known, s.Lease = w.turn != Lost, w.lease
		if w.lease != nil && w.lease.Holder == "" {
			s.FreeFor = at - w.at
		}
	}
	if i := b.renewal(at); i >= 0 && s.Lease != nil {
		w := b.writes[i]
		s.Age = at - w.at
		if b.config.SharedClock && !w.lease.RenewTime.IsZero() {
			s.Age = max(0, s.Age+w.wall.Sub(w.lease.RenewTime).Seconds())
		}
	}
	for _, r := range b.replicas {
		works := r.from <= at && r.work.within(at-lately, at+Tick)
		if r.from <= at && r.holds.at(at) {
			s.HolderLives, s.HolderWorks = r.alive.at(at) || b.config.Followed, works
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
	for _, f := range slices.Backward(b.failovers) {
		if seen := f.seen(at); seen != nil {
			s.Failovers = append(s.Failovers, seen)
		}
	}
	return s
}

// Cell is what a replica was during one column of its line.
type Cell int

// The cells, the ones that hide others last.
const (
	CellNone    Cell = iota // not there, or its process had ended
	CellUnknown             // nothing was heard: the API server was away
	CellStandby             // its process lived
	CellNamed               // the record named it, and no process of it lived
	CellHolds               // it held the Lease
	CellWorks               // it worked
	CellStarted
	CellRestarted
	CellStopped
	CellReleased
	CellTaken
	CellExpired
	CellStolen
	CellOverlap // two worked
)

// Lane is a replica's line.
type Lane struct {
	Name  string
	State string // a word for the moment at the end of the line
	Holds bool   // then
	Gone  bool   // then
	Cells []Cell
}

// Lanes returns the lines of the replicas that were there in the n columns of step seconds, the last of which has a moment in
// it. Columns begin at multiples of the step, so that what was drawn does not change with every tick.
func (b *Board) Lanes(at, step float64, n int) []Lane {
	var lanes []Lane
	from := step * (math.Ceil(at/step-1e-9) - float64(n))
	for _, r := range b.replicas {
		if r.from > at || r.gone < from {
			continue
		}
		lane := Lane{Name: r.pod.Name, Holds: r.holds.at(at), Gone: r.gone <= at, State: r.state(at, b), Cells: make([]Cell, n)}
		for i := range lane.Cells {
			lane.Cells[i] = r.cell(from+step*float64(i), min(at, from+step*float64(i+1)), b)
		}
		if slices.ContainsFunc(lane.Cells, func(c Cell) bool { return c != CellNone }) || !lane.Gone {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

func (r *replica) cell(from, to float64, b *Board) Cell {
	followed := b.config.Followed
	if r.overlaps.within(from, to) {
		return CellOverlap
	}
	cell := CellNone
	for i := len(r.marks) - 1; i >= 0 && r.marks[i].at >= from; i-- {
		if r.marks[i].at < to {
			cell = max(cell, cellOf[r.marks[i].what])
		}
	}
	lives := r.alive.within(from, to)
	switch {
	case cell != CellNone:
		return cell
	case r.work.within(from, to):
		return CellWorks
	case b.deaf(from, to) && (lives || r.holds.within(from, to)):
		return CellUnknown
	case r.holds.within(from, to) && (lives || followed):
		return CellHolds
	case r.holds.within(from, to):
		return CellNamed
	case lives, followed && r.from < to:
		return CellStandby
	default:
		return CellNone
	}
}

var cellOf = map[Mark]Cell{MarkStarted: CellStarted, MarkRestarted: CellRestarted, MarkStopped: CellStopped, MarkReleased: CellReleased,
	MarkTaken: CellTaken, MarkExpired: CellExpired, MarkStolen: CellStolen}

// deaf reports whether the API server was away for all of [from, to).
func (b *Board) deaf(from, to float64) bool {
	return slices.ContainsFunc(b.away, func(a span) bool { return a.from <= from && to <= a.to })
}

// state names what the replica is at a moment.
func (r *replica) state(at float64, b *Board) string {
	lives, holds := r.alive.at(at), r.holds.at(at)
	switch {
	case lives && b.deaf(at, math.Nextafter(at, forever)):
		return "unknown"
	case r.overlaps.within(at-lately, at+Tick):
		return "overlap"
	case lives && r.work.within(at-lately, at+Tick):
		return "works"
	case lives && holds:
		return "holds"
	case lives:
		return "standby"
	case r.gone <= at:
		return "gone"
	case r.pod.UID == "" && holds:
		return "holds"
	case r.pod.UID == "":
		return "seen"
	case holds:
		return "stopped!"
	case len(r.alive) == 0 || r.alive[0].from > at:
		return "starting"
	default:
		return "stopped"
	}
}

// Log returns the lines of a replica up to a moment that say more than that it works, the oldest first.
func (b *Board) Log(name string, at float64) []Line {
	var lines []Line
	for _, r := range b.replicas {
		if r.pod.Name == name {
			for _, l := range r.lines {
				if l.At <= at {
					lines = append(lines, l)
				}
			}
		}
	}
	return lines
}

// Holes returns the holes of the last seconds before a moment.
func (b *Board) Holes(at, seconds float64) []Hole {
	var out []Hole
	for _, h := range b.holes {
		if h.At <= at && h.At >= at-seconds {
			out = append(out, h)
		}
	}
	return out
}

// attempt returns the number of the question to the API server that is under way, or follows in next seconds.
func (b *Board) attempt(since, at float64) (number int, next float64) {
	for _, r := range b.retries {
		if r.at >= since && r.at <= at {
			number, next = r.Attempt+1, max(0, r.at+r.NextSeconds-at)
		}
	}
	return number, next
}
