package tui

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/board"
)

// logsScreen shows what a replica logged beside its reconciles. It is the view's own memory: it can be read while the API
// server is away.
func (m model) logsScreen() []string {
	t := m.theme
	lanes := m.lanes()
	if len(lanes) == 0 {
		return []string{t.heading("LOGS", "", m.width, true), "no replica was seen"}
	}
	i := min(m.replica, len(lanes)-1)
	name := lanes[i].Name
	lines := []string{t.heading("LOGS of "+middle(name, max(8, m.width-30)), fmt.Sprintf("replica %d of %d, tab: next", i+1, len(lanes)), m.width, true)}
	rows := max(1, m.height-4)
	log := m.filtered(m.board.Log(name, m.moment()))
	offset := max(0, min(m.scroll[focusLogs], len(log)-rows))
	for _, l := range log[max(0, len(log)-rows-offset):max(0, len(log)-offset)] {
		text := l.Text
		if l.Raw != "" {
			text = t.bad.Render(l.Level) + " " + l.Raw
		}
		lines = append(lines, cut(t.dim.Render(m.board.Wall(l.At).Local().Format("15:04:05.000"))+" "+text, m.width))
	}
	if len(log) == 0 {
		lines = append(lines, t.dim.Render("nothing but reconciles was logged"))
	}
	return append(lines, cut(t.dim.Render("kubectl -n "+m.board.Config().Namespace+" logs "+name), m.width))
}

func (m model) filtered(log []board.Line) []board.Line {
	if m.filter == "" {
		return log
	}
	var out []board.Line
	for _, l := range log {
		if strings.Contains(l.Text+l.Raw, m.filter) {
			out = append(out, l)
		}
	}
	return out
}
