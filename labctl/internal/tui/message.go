package tui

import (
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// noticeFor is how long a notice stays; briefly while it hides what is being waited for.
const noticeFor, briefly = time.Minute, 4 * time.Second

// note shows a notice above the keys, until a key or for a while.
func (m *model) note(text string) { m.notice, m.noticed = timeline.Visible(text), m.clock }

// fade drops a notice that was there long enough, and reports whether it did.
func (m *model) fade() bool {
	stay := noticeFor
	if m.running {
		stay = briefly
	}
	if m.notice == "" || m.clock.Sub(m.noticed) < stay {
		return false
	}
	m.notice = ""
	return true
}

// message is the line above the keys: what is being done, or what was.
func (m model) message() string {
	t := m.theme
	switch {
	case m.typing:
		return cut("/"+m.filter+t.on.Render(" ")+t.dim.Render("  enter keeps it, esc drops it"), m.width)
	case m.notice != "":
		return cut(t.note.Render(m.notice), m.width)
	case m.running && (m.live || m.quitting):
		return cut(t.note.Render(t.signs.arrow+" "+string(m.mode.Mode)+": "+m.progress()), m.width)
	case m.link.State == NoLab && !m.idle():
		return cut(t.bad.Render("no lab is running: "+m.options.Up), m.width)
	case m.filter != "":
		return cut(t.note.Render("filter: "+m.filter+" (esc shows all)"), m.width)
	}
	if holes := m.board.Holes(m.moment(), 10); len(holes) > 0 {
		return cut(t.dim.Render("hole: "+holes[len(holes)-1].Note), m.width)
	}
	return ""
}

// progress is what the failover under way waits for. What is on the screen already is not waited for.
func (m model) progress() string {
	if m.quitting {
		return m.said
	}
	for _, f := range m.board.At(m.now).Failovers {
		switch {
		case f.Sign != "":
			continue
		case f.T0 < m.began || f.Trial.HolderAfter == nil:
			return m.said
		case f.Trial.GapSeconds == nil && f.Trial.Void == "":
			return "taken over; waiting for the successor's first work"
		default:
			return "the successor works; the record is being finished"
		}
	}
	return m.said
}
