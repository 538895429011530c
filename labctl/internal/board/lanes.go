package board

import (
	"math"
	"slices"
)

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
	Pod   bool   // it is one, and not only an identity
	Cells []Cell
}

// Lanes returns the lines of the replicas that were there in the n columns of step seconds, the last of which has a moment in
// it. Columns begin at multiples of the step, so that what was drawn does not change with every tick.
func (b *Board) Lanes(at, step float64, n int) []Lane {
	var lanes []Lane
	from := step * (math.Ceil(at/step-1e-9) - float64(n))
	for _, r := range b.replicas {
		if r.from > at || b.until(r) < from {
			continue
		}
		lane := Lane{Name: r.pod.Name, Holds: r.holds.at(at), Gone: r.gone <= at && !b.unheardIn(r, at, math.Nextafter(at, forever)), Pod: r.pod.UID != "", State: r.state(at, b), Cells: make([]Cell, n)}
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
	case r.holds.within(from, to) && (lives || followed && b.sureAt(to)):
		return CellHolds
	case r.holds.within(from, to):
		return CellNamed
	case lives, followed && r.from < to && to <= r.gone:
		return CellStandby
	case b.unheardIn(r, from, to):
		return CellUnknown
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
	case b.unheardIn(r, at, math.Nextafter(at, forever)):
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
	case r.pod.UID == "" && holds && b.config.Followed && b.sureAt(at):
		return "holds"
	case r.pod.UID == "" && holds:
		return "named"
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

// Log returns the lines of a replica up to a moment that say more than that it works, the oldest first. What came several
// times in a row is one line.
func (b *Board) Log(name string, at float64) []Line {
	var lines []Line
	for _, r := range b.replicas {
		if r.pod.Name == name {
			for _, l := range r.lines {
				if n := len(lines); l.At > at {
					continue
				} else if n > 0 && lines[n-1].Text == l.Text && lines[n-1].Raw == "" && l.Raw == "" {
					lines[n-1].Count, lines[n-1].Last = lines[n-1].Count+1, l.At
					continue
				}
				l.Count, l.Last = 1, l.At
				lines = append(lines, l)
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
