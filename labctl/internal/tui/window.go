package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/timeline"
)

// window is the bar from the last renewal to the latest takeover, and below it that of the last failover, which stays.
func (f frame) window(focused bool) []string {
	about := "seconds since the last renewal"
	switch w := f.snap.Now; {
	case w == nil:
		about = ""
	case w.Failover != nil:
	case !f.snap.HolderLives || w.Now > w.LeaseDuration:
		about += ", and nobody renews it"
	default:
		about += ", should it die now"
	}
	if f.width < 80 && about != "" {
		about = "since the last renewal"
	}
	lines := []string{f.heading("TAKEOVER WINDOW", about, f.width, focused)}
	scale := f.scale()
	if f.snap.Now == nil {
		lines = append(lines, f.dim.Render(cut(f.snap.NoWindow, f.width)), "")
	} else {
		lines = append(append(lines, f.bar(*f.snap.Now, scale)), f.legend(*f.snap.Now)...)
	}
	if f.snap.Last != nil && !f.low {
		lines = append(lines, f.bar(*f.snap.Last, scale), cut(f.landing(*f.snap.Last), f.width))
	}
	return lines
}

// scale is how many seconds a bar holds: the same for both.
func (f frame) scale() float64 {
	most := 1.0
	for _, w := range []*board.Window{f.snap.Now, f.snap.Last} {
		if w == nil {
			continue
		}
		most = max(most, w.LeaseDuration)
		for _, v := range []float64{w.Latest, w.Landed} {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	return math.Ceil(most/2.5) * 2.5 // so that it does not move with every tick
}

// bar draws a window: the range, the deadlines, now or the landing.
func (f frame) bar(w board.Window, scale float64) string {
	n := f.width
	cells, styles := make([]string, n), make([]*ink, n)
	for i := range cells {
		cells[i], styles[i] = f.signs.base, f.dim
	}
	at := func(v float64) int { return min(n-1, max(0, int(v/scale*float64(n)))) }
	set := func(v float64, sign string, style *ink) {
		if !math.IsNaN(v) && v >= 0 {
			cells[at(v)], styles[at(v)] = sign, style
		}
	}
	if w.Latest > 0 {
		for i := at(w.Earliest); i <= at(w.Latest); i++ {
			cells[i], styles[i] = f.signs.range_, f.hold
		}
	}
	if w.RenewDeadline > 0 {
		set(w.RenewDeadline, f.signs.deadline, f.note)
	}
	set(w.LeaseDuration, f.signs.lease, f.note)
	set(w.Fault, f.signs.cells[board.CellStopped], f.bad)
	if math.IsNaN(w.Landed) {
		set(w.Now, f.signs.now, f.strong)
	} else {
		set(w.Landed, f.signs.landed, f.good)
	}
	return runs(cells, styles)
}

// runs joins cells, styling neighbours of one style at once.
func runs(cells []string, styles []*ink) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i + 1
		for j < len(cells) && styles[j] == styles[i] {
			j++
		}
		b.WriteString(styles[i].Render(strings.Join(cells[i:j], "")))
		i = j
	}
	return b.String()
}

// legend explains the signs of the present window with their values, in two lines if need be.
func (f frame) legend(w board.Window) []string {
	parts := []string{f.signs.now + " now " + fmt.Sprintf("%.1f", w.Now)}
	if w.Latest > 0 {
		parts = append(parts, fmt.Sprintf("%s takeover %.1f%s%.1f", f.signs.range_, w.Earliest, f.signs.between, w.Latest))
	}
	if w.Failover != nil {
		parts = append(parts, fmt.Sprintf("%s fault %.1f", f.signs.cells[board.CellStopped], w.Fault))
	}
	whole := append(slices.Clone(parts), fmt.Sprintf("%s LeaseDuration %.0f", f.signs.lease, w.LeaseDuration))
	parts = append(parts, f.signs.lease+" LeaseDuration") // its number is in the head, too
	if w.RenewDeadline > 0 {
		whole = append(whole, fmt.Sprintf("%s RenewDeadline %.0f", f.signs.deadline, w.RenewDeadline))
		parts = append(parts, f.signs.deadline+" RenewDeadline")
	}
	if line := strings.Join(whole, "  "); lineWidth(line) <= f.width {
		return []string{line}
	}
	return f.wrapped(parts, "  ")
}

// wrapped joins parts to lines that fit.
func (f frame) wrapped(parts []string, between string) []string {
	lines := []string{""}
	for _, part := range parts {
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = part
		case lineWidth(*last)+lineWidth(between)+lineWidth(part) <= f.width:
			*last += between + part
		default:
			lines = append(lines, part)
		}
	}
	return lines
}

// landing says where in its window the last takeover came.
func (f frame) landing(w board.Window) string {
	t := w.Failover.Trial
	if t.HolderAfter == nil {
		return f.bad.Render("last: nobody took it") + " " + t.Void
	}
	text := fmt.Sprintf("%s last: %s took it at %.1f", f.signs.landed, short(*t.HolderAfter), w.Landed)
	if w.Latest > 0 {
		text += fmt.Sprintf(" of %s %.1f%s%.1f", f.signs.range_, w.Earliest, f.signs.between, w.Latest)
	}
	text += ", " + string(t.Class)
	if t.LockGapSeconds != nil {
		text += ": nobody led for " + f.strong.Render(hundredths(*t.LockGapSeconds))
	} else if t.Class == timeline.Unknown {
		text += ": " + t.Void
	}
	return text
}
