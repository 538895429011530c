// Package tui owns the live view in a terminal: it draws a board and acts on keys.
//
//	labctl watch
//
// Update takes messages and does nothing else; what takes time is a command, and what happens comes through a Feed.
package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"

	_ "academy.example/lab/labctl/internal/tui/quiet" // keeps Bubble Tea from asking the terminal in every command
)

// Actions is what the view can do to the lab.
type Actions interface {
	// Failover does one, with its settling and its tail, and returns the folder of its record. What it tells meanwhile goes
	// to the feed: its announcement, its end and its figures.
	Failover(ctx context.Context, mode fault.Mode, feed *Feed) (run string, err error)
}

// Options says what is shown.
type Options struct {
	// Lab is how the lab is called in commands: "labctl up".
	Up string
	// Start is when the clock of the events reads 0.
	Start time.Time
	// Config is what is known of what runs before the source tells.
	Config board.Config
	// Source follows the lab until ctx ends; nil for a recorded run.
	Source func(ctx context.Context, feed *Feed)
	// Recorded is a finished run; nil for a live view.
	Recorded *Recorded
	// Actions may be nil: the view only shows.
	Actions Actions
	// Export keeps a text and returns where; nil if it can't.
	Export func(text string) (path string, err error)
}

// Recorded is a finished run, all of it on a board.
type Recorded struct {
	Board *board.Board
	Name  string
	From  float64 // where it begins to play
	Speed float64
}

// The parts that can have the focus.
const (
	focusWindow = iota
	focusLanes
	focusFailovers
	focuses
	focusLogs = focuses
)

// screen is what is drawn.
type screen int

const (
	screenMain screen = iota
	screenHelp
	screenModes
	screenConfirm
	screenLogs
)

// model is the state of the view.
type model struct {
	options Options
	theme   theme
	keys    keyMap
	board   *board.Board
	feed    *Feed
	ctx     context.Context

	width, height int
	link          Link
	clock         time.Time // of the last tick
	now           float64   // the end of what can be seen
	at            float64   // the moment that is shown, while it is not live
	live          bool      // the moment moves with now
	playing       bool      // of a recorded run
	speed         float64
	step          float64 // seconds of a column

	screen  screen
	focus   int
	scroll  [focuses + 1]int
	modes   []fault.Description // what can be done
	picked  int
	mode    fault.Description
	reading string // the replica whose log is read; "" for the first
	filter  string
	typing  bool // the filter

	running  bool // a failover
	cancel   context.CancelFunc
	quitting bool
	said     string
	notice   string
	noticed  time.Time
	began    float64 // when the failover under way was asked for

	drawn *drawing
}

// drawing is the last view, for as long as nothing changes.
type drawing struct {
	text  string
	fresh bool
	at    float64 // the moment that it shows
}

// zooms are the seconds that a column may stand for.
var zooms = []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60}

func newModel(ctx context.Context, o Options, t theme, feed *Feed) model {
	m := model{options: o, theme: t, keys: newKeys(o.Actions != nil, o.Recorded != nil), feed: feed, ctx: ctx, width: 80, height: 24,
		live: true, step: 1, speed: 1, board: board.New(o.Config), drawn: &drawing{}, cancel: func() {}}
	m.board.Begin(o.Start)
	if r := o.Recorded; r != nil {
		m.board, m.speed, m.live, m.playing = r.Board, r.Speed, false, true
		m.at = r.From
		_, m.now = m.board.Span()
		m.link = Link{State: Live, Text: "recorded"}
	}
	return m
}

// moment is what is shown.
func (m model) moment() float64 {
	if m.live {
		return m.now
	}
	return m.at
}

// tickEvery is how often the clock on the screen moves: in tenths, as the age of a renewal is shown.
const tickEvery = 100 * time.Millisecond

type tickMsg time.Time

func tick() tea.Cmd {
	return tea.Tick(tickEvery, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Init begins the ticking.
func (m model) Init() tea.Cmd { return tick() }

type (
	doneMsg struct {
		run string
		err error
	}
	exportedMsg struct {
		path string
		err  error
	}
)

// redundant is how soon after a live moment that is on the screen already a tick needs to draw nothing, in seconds: the
// events of a leader at work come as often as the ticks, a tenth of a second apart.
const redundant = 0.095

// Update takes a message.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ticks := msg.(tickMsg); !ticks {
		m.drawn.fresh = false
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		if m.tick(time.Time(msg)) {
			m.drawn.fresh = false
		}
		passed := m.moment() - m.drawn.at
		m.drawn.fresh = m.drawn.fresh && (passed == 0 || m.live && passed < redundant)
		return m, tick()
	case tea.KeyMsg:
		return m.press(msg)
	case eventsMsg:
		before := m.board.Begun()
		for _, e := range msg {
			m.board.On(e)
			m.now = max(m.now, e.Seconds)
		}
		if m.board.Begun() > before {
			m.notice = "" // it tells of an earlier one
		}
	case listedMsg:
		m.board.Listed(m.now)
	case modesMsg:
		m.modes = msg
	case configMsg:
		m.board.Configure(board.Config(msg))
	case trialMsg:
		m.board.Measured(timeline.Trial(msg))
	case Link:
		m.linked(msg)
	case sayMsg:
		m.said = timeline.Visible(string(msg))
	case doneMsg:
		m.done(msg)
		if m.quitting {
			return m, tea.Quit
		}
	case exportedMsg:
		m.note("exported to " + msg.path)
		if msg.err != nil {
			m.note("not exported: " + msg.err.Error())
		}
	}
	return m, nil
}

// linked takes how the view is connected.
func (m *model) linked(l Link) {
	switch {
	case m.link.State == Live && l.State != Live:
		m.board.Forget(m.now)
	case m.link.State != Live && l.State == Live:
		m.board.Resume(m.now)
	}
	m.link = l
	m.link.Text = timeline.Visible(l.Text)
}

// done takes the end of the failover under way.
func (m *model) done(d doneMsg) {
	m.running, m.said = false, ""
	m.board.Settle(false)
	m.note("recorded: " + d.run)
	if d.err != nil {
		m.note("the failover ended early: " + d.err.Error())
	}
}

// tick moves the clocks, and reports whether what is drawn changes by more than the moment.
func (m *model) tick(now time.Time) (changed bool) {
	passed := now.Sub(m.clock).Seconds()
	if m.clock.IsZero() {
		passed = 0
	}
	m.clock = now
	changed = m.fade()
	if m.options.Recorded == nil {
		m.now = max(m.now, now.Sub(m.options.Start).Seconds())
		return changed
	}
	if !m.playing {
		return changed
	}
	if m.at += min(passed, 1) * m.speed; m.at >= m.now {
		m.at, m.playing, changed = m.now, false, true
	}
	return changed
}

// lanes are the replicas' lines that pass the filter.
func (m model) lanes() []board.Lane {
	all := m.board.Lanes(m.moment(), m.step, laneColumns(m.width, m.board.Config().Followed))
	return keep(all, func(l board.Lane) bool { return matches(m.filter, l.Name, l.State) })
}
