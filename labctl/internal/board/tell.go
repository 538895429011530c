package board

import (
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Teller tells a timeline in lines: each event that says something new, and what follows from all of them, as the view shows
// it: that nobody leads, and for how long nobody led.
type Teller struct {
	board    *Board
	narrator report.Narrator
	nobody   bool
	done     int // the last failover of which the end was told
}

// NewTeller returns a Teller that knows what runs.
func NewTeller(config Config) *Teller { return &Teller{board: New(config)} }

// Lines returns the lines for the next event.
func (t *Teller) Lines(e timeline.Event) []string {
	var lines []string
	if line := t.narrator.Line(e); line != "" {
		lines = strings.Split(line, "\n")
	}
	t.board.On(e)
	if e.Kind == timeline.WorkSeen || e.Kind == timeline.LogLine && e.Log.Message == api.MessageReconcile {
		return lines // it comes many times a second; the next event of another kind tells
	}
	for _, what := range append(t.ended(), t.vacant(e.Seconds)...) {
		lines = append(lines, report.Stamped(e.Wall, "lead     "+what))
	}
	return lines
}

// Listed returns the line for a Lease that is not among what was there at the beginning.
func (t *Teller) Listed(at float64, wall time.Time) []string {
	t.board.Begin(wall.Add(-durationOf(at)))
	t.board.Listed(at)
	if s := t.board.At(at); s.Lease != nil {
		return nil
	}
	return []string{report.Stamped(wall, "lease    "+t.board.Config().Lease+" does not exist; waiting for it")}
}

// vacant tells once that nobody leads.
func (t *Teller) vacant(at float64) []string {
	s := t.board.At(at)
	before := t.nobody
	t.nobody = s.Nobody > 0
	switch {
	case before || !t.nobody:
		return nil
	case s.Freed:
		return []string{"NOBODY LEADS: the Lease was released"}
	case s.FreeFor > 0:
		return []string{"NOBODY LEADS: the record names nobody"}
	default:
		return []string{"NOBODY LEADS: the Lease is in the name of a process that is gone"}
	}
}

// ended tells of a failover, once that is known, for how long nobody led.
func (t *Teller) ended() (lines []string) {
	for _, f := range t.board.failovers {
		switch known := f.Trial.HolderAfter != nil && f.Trial.LockGapSeconds != nil; {
		case f.Number <= t.done || !known && !f.Ended:
			continue
		case known:
			lines = append(lines, fmt.Sprintf("nobody led for %.2f s, %s, %s", *f.Trial.LockGapSeconds, f.Trial.Class, report.Short(*f.Trial.HolderAfter)))
		case f.Trial.Void != "":
			lines = append(lines, "for how long nobody led was not seen: "+f.Trial.Void)
		case f.Trial.HolderAfter != nil:
			lines = append(lines, fmt.Sprintf("for how long nobody led was not seen: %s, %s", f.Trial.Class, report.Short(*f.Trial.HolderAfter)))
		default:
			lines = append(lines, "for how long nobody led was not seen: no new holder was")
		}
		t.done = f.Number
	}
	return lines
}

func durationOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
