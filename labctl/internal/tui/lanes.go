package tui

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/board"
)

// Widths of a lane's label.
const (
	laneName  = 7
	laneState = 9
)

// laneColumns is how many columns of time a lane has.
func laneColumns(width int, long bool) int { return max(1, width-label(width, long)) }

func label(width int, long bool) int {
	name := laneName
	if long {
		name = max(laneName, min(40, width/3))
	}
	return name + laneState
}

// lanes draws one line for each replica, as many as fit, beginning with the one at the offset.
func (f frame) lanes(lanes []board.Lane, step float64, rows, offset int, focused bool) []string {
	long := f.config.Followed
	n := laneColumns(f.width, long)
	from := f.snap.Wall.Add(-durationOf(step * float64(n)))
	about := fmt.Sprintf("%s a column, %s to %s", columns(step), from.Local().Format("15:04:05"), f.snap.Wall.Local().Format("15:04:05"))
	if len(lanes) > rows {
		about = fmt.Sprintf("%d of %d, tab and arrows show the others; %s", rows, len(lanes), columns(step)+" a column")
	}
	out := []string{f.heading("LANES", about, f.width, focused)}
	offset = max(0, min(offset, len(lanes)-rows))
	for i := range min(rows, len(lanes)-offset) {
		out = append(out, f.lane(lanes[offset+i], long))
	}
	if len(lanes) == 0 {
		out = append(out, f.dim.Render("no replica was seen"))
	}
	return out
}

func columns(step float64) string {
	if step < 1 {
		return fmt.Sprintf("%g s", step)
	}
	return fmt.Sprintf("%.0f s", step)
}

func (f frame) lane(l board.Lane, long bool) string {
	name, width := short(l.Name), label(f.width, long)-laneState-1
	if long {
		name = l.Name
	}
	style := f.dim
	switch {
	case l.State == "works":
		style = f.good
	case l.State == "overlap" || l.State == "stopped!":
		style = f.alarm
	case l.State == "stopped" || l.State == "gone":
		style = f.bad
	case l.Holds:
		style = f.hold
	}
	text := fit(middle(name, width), width) + " " + style.Render(l.State) + strings.Repeat(" ", max(1, laneState-len(l.State)))
	cells, styles := make([]string, len(l.Cells)), make([]*ink, len(l.Cells))
	for i, c := range l.Cells {
		cells[i], styles[i] = f.signs.cells[c], f.cell(c)
	}
	return text + runs(cells, styles)
}

// laneLegend explains the signs that are in the lanes, in as many lines as that takes.
func (f frame) laneLegend(lanes []board.Lane) []string {
	var there [board.CellOverlap + 1]bool
	for _, l := range lanes {
		for _, c := range l.Cells {
			there[c] = true
		}
	}
	var parts []string
	for _, e := range []struct {
		cell board.Cell
		word string
	}{{board.CellWorks, "works"}, {board.CellHolds, "holds"}, {board.CellNamed, "named"}, {board.CellStandby, "standby"}, {board.CellStarted, "started"}, {board.CellStopped, "stopped"},
		{board.CellRestarted, "restarted"}, {board.CellReleased, "released"}, {board.CellTaken, "took"}, {board.CellExpired, "expired"}, {board.CellStolen, "took a valid one"},
		{board.CellUnknown, "not heard of"}, {board.CellOverlap, "two"}} {
		if there[e.cell] {
			parts = append(parts, f.cell(e.cell).Render(f.signs.cells[e.cell])+f.dim.Render(e.word))
		}
	}
	return f.wrapped(parts, " ")
}
