package tui

import (
	"fmt"

	"github.com/charmbracelet/bubbles/key"

	"academy.example/lab/labctl/internal/board"
)

// helpScreen is every key, and how to read the view.
func (m model) helpScreen() []string {
	t, k := m.theme, m.keys
	lines := []string{t.heading("KEYS", "esc goes back", m.width, true)}
	var column []string
	for _, b := range []key.Binding{k.help, k.quit, k.back, k.graceful, k.force, k.modes, k.logs, k.pause, k.left, k.right, k.pageLeft, k.pageRight, k.home, k.end,
		k.slower, k.faster, k.focus, k.up, k.down, k.zoomIn, k.zoomOut, k.filter, k.export, k.suspend} {
		if b.Enabled() {
			column = append(column, fmt.Sprintf("  %s %s", t.strong.Render(fit(b.Help().Key, 6)), b.Help().Desc))
		}
	}
	columns := max(1, min(3, m.width/26))
	rows := (len(column) + columns - 1) / columns
	for r := range rows {
		line := ""
		for c := range columns {
			if i := c*rows + r; i < len(column) {
				line += fit(column[i], m.width/columns)
			}
		}
		lines = append(lines, cut(line, m.width))
	}
	lines = append(lines, t.heading("SIGNS", "", m.width, false))
	sign := func(c board.Cell) string { return t.cell(c).Render(t.signs.cells[c]) }
	for _, text := range []string{
		sign(board.CellWorks) + " works: it reconciled   " + sign(board.CellHolds) + " holds the Lease, no work seen   " + sign(board.CellStandby) + " standby",
		sign(board.CellNamed) + " the record names it, its process is gone   " + sign(board.CellUnknown) + " not heard of   " + sign(board.CellOverlap) + " two worked",
		sign(board.CellStopped) + " process ended   " + sign(board.CellStarted) + " started   " + sign(board.CellRestarted) + " restarted in its pod   " + sign(board.CellReleased) + " released the Lease",
		sign(board.CellTaken) + " took a free Lease   " + sign(board.CellExpired) + " took an expired one   " + sign(board.CellStolen) + " took a valid one",
		"in the window: " + t.signs.now + " now  " + t.signs.cells[board.CellStopped] + " fault  " + t.signs.deadline + " RenewDeadline  " + t.signs.lease + " LeaseDuration",
		"               " + t.signs.range_ + " takeover possible  " + t.signs.landed + " takeover   in brackets: seen, no trial",
	} {
		lines = append(lines, cut("  "+text, m.width))
	}
	return lines
}
