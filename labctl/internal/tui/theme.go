package tui

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"academy.example/lab/labctl/internal/board"
)

// theme is how things look: a sign carries the meaning, and a colour repeats it where the terminal has any.
type theme struct {
	signs                                                signs
	title, dim, strong, good, hold, bad, alarm, note, on *ink
}

// signs are the characters that stand for something.
type signs struct {
	cells                                  map[board.Cell]string
	now, landed, deadline, lease, range_   string
	base, rule, live, away, arrow, between string
	others                                 *strings.Replacer // of what is not a sign
}

var unicode = signs{
	cells: map[board.Cell]string{board.CellNone: " ", board.CellUnknown: "?", board.CellStandby: "·", board.CellNamed: "░", board.CellHolds: "▒", board.CellWorks: "▓", board.CellStarted: "+",
		board.CellRestarted: "↻", board.CellStopped: "×", board.CellReleased: "▽", board.CellTaken: "△", board.CellExpired: "◇", board.CellStolen: "!", board.CellOverlap: "‼"},
	now: "●", landed: "◆", deadline: "┊", lease: "│", range_: "═", base: "─", rule: "─", live: "●", away: "○", arrow: "→", between: "–",
}

var ascii = signs{
	cells: map[board.Cell]string{board.CellNone: " ", board.CellUnknown: "?", board.CellStandby: ".", board.CellNamed: "%", board.CellHolds: "h", board.CellWorks: "#", board.CellStarted: "+",
		board.CellRestarted: "r", board.CellStopped: "x", board.CellReleased: "v", board.CellTaken: "^", board.CellExpired: "<", board.CellStolen: "!", board.CellOverlap: "@"},
	now: "O", landed: "X", deadline: ":", lease: "|", range_: "=", base: "-", rule: "-", live: "*", away: "o", arrow: ">", between: "-",
	others: strings.NewReplacer("…", "~", "←", "<", "→", ">", "↑", "^", "↓", "v"),
}

// newTheme returns the theme of a terminal. The renderer knows its colours, and has none if NO_COLOR is set.
func newTheme(r *lipgloss.Renderer, s signs) theme {
	style := r.NewStyle()
	colour := func(light, dark string) lipgloss.Style {
		return style.Foreground(lipgloss.AdaptiveColor{Light: light, Dark: dark})
	}
	bold := inkOf(style.Bold(true))
	return theme{signs: s, title: bold, dim: inkOf(colour("8", "7")), strong: bold, good: inkOf(colour("2", "10")), hold: inkOf(colour("3", "11")),
		bad: inkOf(colour("1", "9")), alarm: inkOf(colour("1", "9").Bold(true).Reverse(true)), note: inkOf(colour("4", "14")), on: inkOf(style.Reverse(true))}
}

// ink is a style as what stands before and after a text: the view is drawn many times a second.
type ink struct{ before, after string }

func inkOf(s lipgloss.Style) *ink {
	before, after, _ := strings.Cut(s.Render("x"), "x")
	return &ink{before, after}
}

// Render styles a text of one line.
func (i *ink) Render(text string) string {
	if text == "" {
		return ""
	}
	return i.before + text + i.after
}

// signsFor picks ASCII where the locale is not UTF-8.
func signsFor(environ func(string) string) signs {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(environ(name)); value != "" {
			if strings.Contains(value, "utf-8") || strings.Contains(value, "utf8") {
				return unicode
			}
			return ascii
		}
	}
	return unicode // nothing is said, as in most containers: terminals of today draw it
}

// cell styles a cell of a lane.
func (t theme) cell(c board.Cell) *ink {
	switch c {
	case board.CellWorks, board.CellTaken:
		return t.good
	case board.CellHolds, board.CellReleased, board.CellExpired:
		return t.hold
	case board.CellStopped, board.CellNamed, board.CellStolen:
		return t.bad
	case board.CellOverlap:
		return t.alarm
	case board.CellRestarted, board.CellStarted:
		return t.note
	default:
		return t.dim
	}
}

// fit cuts or fills a line to a width.
func fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	if w := ansi.StringWidth(s); w < width {
		return s + strings.Repeat(" ", width-w)
	}
	return ansi.Truncate(s, width, "…")
}

// cut cuts a line to a width.
func cut(s string, width int) string { return ansi.Truncate(s, max(0, width), "…") }

// middle cuts a name in its middle, so that its end, which tells it from the others, stays.
func middle(name string, width int) string {
	r := []rune(name)
	switch w := ansi.StringWidth(name); {
	case w <= width:
		return name
	case w != len(r): // some take two columns, or none
		return ansi.Truncate(name, max(0, width), "…")
	case width < 3:
		return string(r[len(r)-max(0, width):])
	}
	tail := (width - 1) * 2 / 3
	return string(r[:width-1-tail]) + "…" + string(r[len(r)-tail:])
}

// short is the end of a pod's name, which tells the replicas apart.
func short(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// title is a line that heads a part.
func (t theme) heading(name, about string, width int, focused bool) string {
	style := t.title
	if focused {
		style = t.on
	}
	left := style.Render(name) + " "
	room := width - ansi.StringWidth(left) - ansi.StringWidth(about) - 1
	if room < 2 {
		return cut(left+t.dim.Render(about), width)
	}
	return left + t.dim.Render(strings.Repeat(t.signs.rule, room)+" "+about)
}
