package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/board"
)

// logged are the replicas whose logs can be read: the holder, then those that live, then those that are gone.
func (m model) logged() []board.Lane {
	lanes := m.lanes()
	order := func(l board.Lane) int {
		switch {
		case l.Holds && !l.Gone:
			return 0
		case !l.Gone:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(lanes, func(a, b board.Lane) int { return order(a) - order(b) })
	return lanes
}

// read returns which of the replicas is read.
func (m model) read(lanes []board.Lane) int {
	return max(0, slices.IndexFunc(lanes, func(l board.Lane) bool { return l.Name == m.reading }))
}

// logRows is how many lines of a log are seen at a time.
func (m model) logRows() int { return max(1, m.height-4) }

// logsScreen shows what a replica logged beside its reconciles. It is the view's own memory: it can be read while the API
// server is away.
func (m model) logsScreen() []string {
	t := m.theme
	lanes := m.logged()
	if len(lanes) == 0 {
		return []string{t.heading("LOGS", "", m.width, true), "no replica was seen"}
	}
	i := m.read(lanes)
	name := lanes[i].Name
	lines := []string{t.heading("LOGS of "+middle(name, max(8, m.width-40)), fmt.Sprintf("%s, replica %d of %d, tab: next", lanes[i].State, i+1, len(lanes)), m.width, true)}
	rows := m.logRows()
	log := m.filtered(m.board.Log(name, m.moment()))
	offset := max(0, min(m.scroll[focusLogs], len(log)-rows))
	for _, l := range log[max(0, len(log)-rows-offset):max(0, len(log)-offset)] {
		lines = append(lines, cut(m.logLine(l), m.width))
	}
	if len(log) == 0 {
		lines = append(lines, t.dim.Render(cut(m.noLog(), m.width)))
	}
	return append(lines, t.dim.Render(cut(m.elsewhere(lanes[i]), m.width)))
}

// logLine is a line, with how often it came in a row.
func (m model) logLine(l board.Line) string {
	when := func(at float64) string { return m.board.Wall(at).Local().Format("15:04:05.000") }
	text := l.Text
	if l.Raw != "" {
		text = m.theme.bad.Render(l.Level) + " " + l.Raw
	}
	if l.Count > 1 {
		text += fmt.Sprintf(" x%d, last at %s", l.Count, when(l.Last))
	}
	return m.theme.dim.Render(when(l.At)) + " " + text
}

func (m model) noLog() string {
	switch {
	case m.filter != "":
		return "no line has the filter's text"
	case m.options.Recorded != nil:
		return "nothing but reconciles was recorded"
	default:
		return "nothing but reconciles since the view began"
	}
}

// elsewhere says where the whole log is.
func (m model) elsewhere(l board.Lane) string {
	switch {
	case !l.Pod:
		return "only its name is known: no log is read"
	case l.Gone:
		return "the pod is gone; only this view still has its lines"
	default:
		return "kubectl -n " + m.board.Config().Namespace + " logs " + l.Name
	}
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

// readLogs acts on a key of the logs screen.
func (m model) readLogs(k tea.KeyMsg) model {
	lanes := m.logged()
	if len(lanes) == 0 {
		return m
	}
	i := m.read(lanes)
	most := max(0, len(m.filtered(m.board.Log(lanes[i].Name, m.moment())))-m.logRows())
	scroll := &m.scroll[focusLogs]
	switch {
	case key.Matches(k, m.keys.focus):
		m.reading, *scroll = lanes[(i+1)%len(lanes)].Name, 0
	case key.Matches(k, m.keys.up):
		*scroll = min(most, *scroll+1)
	case key.Matches(k, m.keys.down):
		*scroll = max(0, min(most, *scroll)-1)
	case key.Matches(k, m.keys.logs):
		m.screen = screenMain
	}
	return m
}
