package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"academy.example/lab/labctl/internal/board"
)

// frame is all that is drawn from: a moment of the board, and how to draw it.
type frame struct {
	theme
	snap   board.Snapshot
	config board.Config
	link   string // the connection in words
	linkOK bool
	lost   string // why nothing is watched, if that is so
	low    bool   // there is no room for the last window
	width  int
}

func lineWidth(s string) int { return ansi.StringWidth(s) }

// sides puts one text at the left end of a line and one at the right end; the right one stays whole.
func sides(left, right string, width int) string {
	room := width - lineWidth(right)
	if room < 2 {
		return cut(right, width)
	}
	return fit(cut(left, room-1), room) + right
}

// head is the Lease and what runs, in four lines.
func (f frame) head() []string {
	c := f.config
	link := f.good.Render(f.signs.live + " " + f.link)
	if !f.linkOK {
		link = f.alarm.Render(f.signs.away + " " + f.link)
	}
	name := f.strong.Render(c.Lease)
	if where := strings.TrimSpace(c.Provider + " " + c.Kubernetes); lineWidth(name)+lineWidth(where)+lineWidth(link)+4 <= f.width {
		link = f.dim.Render(where) + "  " + link
	}
	return []string{sides(name, link, f.width), f.holderLine(), cut(f.record(), f.width), cut(f.settings(), f.width)}
}

// holderLine says who holds the Lease, and whether somebody leads.
func (f frame) holderLine() string {
	text, style := f.verdict()
	holder := f.holder()
	room := f.width - 8 - 2 - lineWidth(text)
	if room < 12 {
		room = min(12, f.width-8)
	}
	return cut("holder  "+f.strong.Render(middle(holder, room))+"  "+style.Render(text), f.width)
}

func (f frame) holder() string {
	switch {
	case !f.snap.Known || f.snap.Lease == nil:
		return "none"
	case f.snap.Lease.Holder == "":
		return "nobody"
	default:
		return f.snap.Lease.Holder
	}
}
