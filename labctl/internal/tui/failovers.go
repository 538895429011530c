package tui

import (
	"fmt"
	"math"
	"strings"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/timeline"
)

// failovers lists the last ones, as many as fit.
func (f frame) failovers(list []*board.Failover, rows, offset int, focused bool) []string {
	about := "mode, class, lock gap of the predicted range; in brackets: seen, not issued as a trial"
	if f.width < 100 {
		about = "lock gap of the predicted range; in brackets: only seen"
	}
	out := []string{f.heading("FAILOVERS", about, f.width, focused)}
	if len(list) == 0 {
		return append(out, f.dim.Render("none yet"))
	}
	offset = max(0, min(offset, len(list)-rows))
	scale := f.pictureScale(list)
	for i := range min(rows, len(list)-offset) {
		out = append(out, cut(f.failover(list[offset+i], scale), f.width))
	}
	return out
}

// pictureScale is how many seconds a picture holds: the same for all.
func (f frame) pictureScale(list []*board.Failover) float64 {
	t := f.config.Timing
	most := t.LeaseDuration.Seconds() + 4.4*t.RetryPeriod.Seconds()
	for _, o := range list {
		most = max(most, o.Predicted.MaxSeconds)
		if o.Trial.LockGapSeconds != nil {
			most = max(most, *o.Trial.LockGapSeconds)
		}
	}
	return max(1, most)
}

// wideWidth has room for a larger picture and the user gap, fullWidth for what the winner was and the transitions,
// pictureWidth for the time and a picture.
const wideWidth, fullWidth, pictureWidth = 115, 95, 78

// failover is one row.
func (f frame) failover(o *board.Failover, scale float64) string {
	t := o.Trial
	picture := 10
	if f.width >= wideWidth {
		picture = 18
	}
	row := fit(mode(o), 13) + " " + f.classStyle(o).Render(fit(class(o), 13)) + " " + fit(f.gapOfRange(o), 21)
	if f.width >= pictureWidth {
		row = t.WallT0.Local().Format("15:04:05") + " " + row + " " + f.picture(o, picture, scale)
	}
	switch {
	case t.Void != "" && o.Ended:
		row += " " + t.Void
	case t.HolderAfter != nil:
		winner := string(t.Winner)
		if winner == "" {
			winner = "other"
		}
		row += " " + f.signs.arrow + " " + short(*t.HolderAfter)
		if f.width < fullWidth {
			break // what decides least is left out
		}
		row += " " + winner
		if t.TransitionsAfter != nil {
			row += fmt.Sprintf(" %d%s%d", t.TransitionsBefore, f.signs.arrow, *t.TransitionsAfter)
		}
	}
	if f.width >= wideWidth {
		switch {
		case t.OverlapSeconds != nil && *t.OverlapSeconds > 0: // says more than the user gap
			row += f.alarm.Render("  two led for " + hundredths(*t.OverlapSeconds))
		case t.GapSeconds != nil:
			row += "  user gap " + hundredths(*t.GapSeconds)
		}
	}
	return row
}

// mode is what was done, or in brackets what was seen of it.
func mode(o *board.Failover) string {
	switch {
	case o.Sign == "":
		return o.Fault.Mode
	case o.Settling:
		return "(settling)"
	}
	return "(" + brief.Replace(o.Sign) + ")"
}

// brief makes a sign short enough for its column.
var brief = strings.NewReplacer("process ended, exit code", "exit", "Lease deleted", "Lease gone", "Lease ", "")

func class(o *board.Failover) string {
	switch {
	case o.Trial.HolderAfter == nil && !o.Ended:
		return "open"
	case o.Trial.Class == "":
		return string(timeline.Unknown)
	default:
		return string(o.Trial.Class)
	}
}

func (f frame) classStyle(o *board.Failover) *ink {
	switch o.Trial.Class {
	case timeline.Released:
		return f.good
	case timeline.Expired, timeline.SameIdentity:
		return f.hold
	default:
		return f.bad
	}
}

// lockGap is the figure, or how long it has lasted so far.
func (f frame) lockGap(o *board.Failover) string {
	switch {
	case o.Trial.LockGapSeconds != nil:
		return hundredths(*o.Trial.LockGapSeconds)
	case o.Trial.HolderAfter == nil && !o.Ended && f.snap.Nobody > 0:
		return seconds(f.snap.Nobody) + f.signs.arrow
	default:
		return "not seen"
	}
}

// gapOfRange is the figure with the range that the model gives for it. The range is rounded outwards, so that no figure that
// lies in it seems not to.
func (f frame) gapOfRange(o *board.Failover) string {
	gap, p := f.lockGap(o), o.Predicted
	if p.MaxSeconds <= 0 {
		return gap
	}
	return fmt.Sprintf("%s of %.1f%s%.1f", gap, math.Floor(p.MinSeconds*10+1e-6)/10, f.signs.between, math.Ceil(p.MaxSeconds*10-1e-6)/10)
}

// picture is the predicted range with the measured gap in it.
func (f frame) picture(o *board.Failover, n int, scale float64) string {
	cells, styles := make([]string, n), make([]*ink, n)
	at := func(v float64) int { return min(n-1, max(0, int(v/scale*float64(n)))) }
	for i := range cells {
		cells[i], styles[i] = f.signs.base, f.dim
	}
	if p := o.Predicted; p.MaxSeconds > 0 {
		for i := at(p.MinSeconds); i <= at(p.MaxSeconds); i++ {
			cells[i], styles[i] = f.signs.range_, f.hold
		}
	}
	if g := o.Trial.LockGapSeconds; g != nil {
		style := f.good
		if o.Predicted.MaxSeconds > 0 && !o.Predicted.Holds(*g) {
			style = f.bad
		}
		cells[at(*g)], styles[at(*g)] = f.signs.landed, style
	}
	return runs(cells, styles)
}
