package tui

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/fault"
)

// press acts on each rune of a message by itself: several that were typed fast, or pasted, come in one. What is pasted
// confirms nothing.
func (m model) press(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	if k.Type != tea.KeyRunes || len(k.Runes) == 1 && !k.Paste {
		return m.key(k)
	}
	var commands []tea.Cmd
	for _, r := range k.Runes {
		if m.quitting || k.Paste && m.screen == screenConfirm {
			break
		}
		next, command := m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt})
		m = next.(model)
		if command != nil {
			commands = append(commands, command)
		}
	}
	return m, tea.Batch(commands...)
}

// key acts on a key. q, ? and esc mean the same on every screen.
func (m model) key(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	if m.typing {
		return m.typed(k)
	}
	m.notice = ""
	switch {
	case key.Matches(k, m.keys.quit):
		return m.quit()
	case key.Matches(k, m.keys.suspend):
		return m, tea.Suspend
	case m.width < leastWidth || m.height < leastHeight:
		return m, nil // what can't be seen can't be meant
	case key.Matches(k, m.keys.help):
		m.screen = map[bool]screen{true: screenMain, false: screenHelp}[m.screen == screenHelp]
		return m, nil
	case key.Matches(k, m.keys.back):
		return m.back(), nil
	}
	switch m.screen {
	case screenModes:
		return m.pick(k), nil
	case screenConfirm:
		return m.confirm(k)
	case screenLogs:
		return m.readLogs(k), nil
	case screenHelp:
		return m, nil
	}
	return m.keyMain(k)
}

// The least that a key acts on: below it only one line is drawn.
const leastWidth, leastHeight = 30, 8

// quit ends the view; a failover under way is ended first.
func (m model) quit() (tea.Model, tea.Cmd) {
	m.quitting = true
	if !m.running {
		return m, tea.Quit
	}
	m.notice = ""
	m.said = "ending the failover, then quitting"
	m.cancel()
	return m, nil
}

// back leaves a screen, then the filter, then a moment of the past.
func (m model) back() model {
	switch {
	case m.screen == screenConfirm && m.picked >= 0:
		m.screen = screenModes
	case m.screen != screenMain:
		m.screen = screenMain
	case m.filter != "":
		m.filter = ""
	case m.options.Recorded == nil:
		m.live = true
	}
	return m
}

func (m model) keyMain(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	switch {
	case key.Matches(k, m.keys.graceful):
		return m.ask(fault.Graceful), nil
	case key.Matches(k, m.keys.force):
		return m.ask(fault.Force), nil
	case key.Matches(k, m.keys.modes):
		if m.may() {
			m.screen, m.picked = screenModes, 0
		}
	case key.Matches(k, m.keys.logs):
		m.screen, m.reading, m.scroll[focusLogs] = screenLogs, "", 0
		if lanes := m.logged(); len(lanes) > 0 {
			m.reading = lanes[0].Name // also when another one holds the Lease later
		}
	case key.Matches(k, m.keys.filter):
		m.typing = true
	case key.Matches(k, m.keys.export):
		return m, m.export()
	case key.Matches(k, m.keys.focus):
		m.focus = (m.focus + 1) % focuses
	case key.Matches(k, m.keys.up):
		m.scroll[m.focus] = max(0, min(m.scroll[m.focus], m.most())-1)
	case key.Matches(k, m.keys.down):
		m.scroll[m.focus] = min(m.scroll[m.focus]+1, m.most())
	case key.Matches(k, m.keys.zoomIn):
		m.zoom(-1)
	case key.Matches(k, m.keys.zoomOut):
		m.zoom(1)
	case key.Matches(k, m.keys.slower):
		m.speed = max(0.125, m.speed/2)
	case key.Matches(k, m.keys.faster):
		m.speed = min(64, m.speed*2)
	default:
		m.travel(k)
	}
	return m, nil
}

// most is how far the focused part can be scrolled.
func (m model) most() int {
	l := m.layout(m.frame())
	switch m.focus {
	case focusLanes:
		return max(0, len(l.lanes)-l.laneRows)
	case focusFailovers:
		return max(0, len(l.failovers)-l.failedRows)
	default:
		return 0
	}
}

func (m *model) zoom(by int) {
	i := slices.Index(zooms, m.step)
	m.step = zooms[max(0, min(len(zooms)-1, i+by))]
}

// travel moves the moment that is shown.
func (m *model) travel(k tea.KeyMsg) {
	page := m.step * float64(laneColumns(m.width, false))
	switch {
	case key.Matches(k, m.keys.pause):
		if m.options.Recorded != nil {
			if m.playing = !m.playing; m.playing && m.at >= m.now {
				m.at, _ = m.board.Span()
			}
			return
		}
		m.at, m.live = m.now, !m.live
	case key.Matches(k, m.keys.left):
		m.jump(m.moment() - m.step)
	case key.Matches(k, m.keys.right):
		m.jump(m.moment() + m.step)
	case key.Matches(k, m.keys.pageLeft):
		m.jump(m.moment() - page)
	case key.Matches(k, m.keys.pageRight):
		m.jump(m.moment() + page)
	case key.Matches(k, m.keys.home):
		m.jump(math.Inf(-1))
	case key.Matches(k, m.keys.end):
		m.jump(math.Inf(1))
		m.live = m.options.Recorded == nil
	}
}

func (m *model) jump(to float64) {
	first, _ := m.board.Span()
	m.at, m.live, m.playing = min(m.now, max(first, to)), false, false
}

// may reports whether something can be done now, and says why not.
func (m *model) may() bool {
	switch {
	case m.running:
		m.note("a failover is under way: g, f and m wait for its end")
	case m.link.State != Live:
		m.note("no lab is connected")
	default:
		return true
	}
	return false
}

// ask shows what a mode would do.
func (m model) ask(mode fault.Mode) model {
	if !m.may() {
		return m
	}
	for _, d := range m.modes {
		if d.Mode == mode {
			m.mode, m.screen, m.picked = d, screenConfirm, -1
			return m
		}
	}
	m.note(fmt.Sprintf("%s can't be done on this provider", mode))
	return m
}

func (m model) pick(k tea.KeyMsg) model {
	modes := m.modes
	switch {
	case key.Matches(k, m.keys.up):
		m.picked = max(0, m.picked-1)
	case key.Matches(k, m.keys.down):
		m.picked = min(len(modes)-1, m.picked+1)
	case k.Type == tea.KeyEnter:
		m.mode, m.screen = modes[m.picked], screenConfirm
	}
	return m
}

func (m model) confirm(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	if !key.Matches(k, m.keys.yes) {
		return m, nil
	}
	m.screen = screenMain
	if !m.may() {
		return m, nil
	}
	m.running, m.live, m.said, m.began = true, true, "beginning", m.now
	m.board.Settle(true)
	ctx, cancel := context.WithCancel(m.ctx)
	m.cancel = cancel
	actions, mode, feed := m.options.Actions, m.mode.Mode, m.feed
	return m, func() tea.Msg {
		defer cancel()
		run, err := actions.Failover(ctx, mode, feed)
		return doneMsg{run, err}
	}
}

// typed takes a key while the filter is typed.
func (m model) typed(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	switch k.Type {
	case tea.KeyCtrlC:
		return m.quit()
	case tea.KeyEsc:
		m.typing, m.filter = false, ""
	case tea.KeyEnter:
		m.typing = false
	case tea.KeyBackspace:
		if r := []rune(m.filter); len(r) > 0 {
			m.filter = string(r[:len(r)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		m.filter += string(slices.DeleteFunc(slices.Clone(k.Runes), func(r rune) bool { return !strconv.IsPrint(r) }))
	}
	return m, nil
}

// export writes what is seen, without colours and wide enough for all of it.
func (m model) export() tea.Cmd {
	if m.options.Export == nil {
		return nil
	}
	wide := m
	wide.width, wide.height = max(m.width, 120), max(m.height, 40)
	lines := wide.main()
	write := m.options.Export
	return func() tea.Msg {
		path, err := write(plain(strings.Join(lines, "\n")) + "\n")
		return exportedMsg{path, err}
	}
}

func keep[T any](values []T, ok func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(values), func(v T) bool { return !ok(v) })
}

// matches reports whether one of the texts has the filter in it.
func matches(filter string, texts ...string) bool {
	return filter == "" || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, filter) })
}

func matchesFailover(filter string, f *board.Failover) bool {
	after := ""
	if f.Trial.HolderAfter != nil {
		after = *f.Trial.HolderAfter
	}
	return matches(filter, f.Fault.Mode, f.Sign, f.Fault.Pod, string(f.Trial.Class), after)
}
