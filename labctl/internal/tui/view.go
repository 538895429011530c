package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"academy.example/lab/labctl/internal/board"
)

// View draws the screen, never more lines or columns than it has.
func (m model) View() string {
	if !m.drawn.fresh {
		m.drawn.text, m.drawn.fresh, m.drawn.at = m.draw(), true, m.moment()
	}
	return m.drawn.text
}

func (m model) draw() string {
	if others := m.theme.signs.others; others != nil {
		return others.Replace(m.compose())
	}
	return m.compose()
}

func (m model) compose() string {
	if m.width < leastWidth || m.height < leastHeight {
		return cut(m.frame().tiny(), m.width)
	}
	var body []string
	switch {
	case m.screen == screenHelp:
		body = m.helpScreen()
	case m.screen == screenModes:
		body = m.modesScreen()
	case m.screen == screenConfirm:
		body = m.confirmScreen()
	case m.screen == screenLogs:
		body = m.logsScreen()
	case m.idle():
		body = m.waiting()
	case m.width < smallWidth || m.height < smallHeight:
		body = m.small()
	default:
		body = m.main()
	}
	footer := []string{m.message(), m.footer()}
	body = body[:min(len(body), m.height-len(footer))]
	for len(body) < m.height-len(footer) {
		body = append(body, "")
	}
	return strings.Join(append(body, footer...), "\n")
}

// idle reports whether there is nothing to show but what is waited for.
func (m model) idle() bool {
	return m.link.State != Live && len(m.lanes()) == 0 && !m.board.At(m.moment()).Known
}

// Below these there is no room for lanes.
const smallWidth, smallHeight = 60, 16

// Below this the window of the last failover is left out, so that lanes and failovers have room.
const lowHeight = 20

func (m model) frame() frame {
	f := frame{theme: m.theme, snap: m.board.At(m.moment()), config: m.board.Config(), width: m.width}
	f.link, f.linkOK = m.linkText(f.snap)
	f.low = m.height < lowHeight
	f.lost = "not connected"
	if m.link.State == NoLab {
		f.lost = "no lab"
	}
	return f
}

// linkText says how the view is connected, and which moment it shows.
func (m model) linkText(s board.Snapshot) (string, bool) {
	switch {
	case m.options.Recorded != nil && m.playing:
		return fmt.Sprintf("%s  %s  play %gx", m.options.Recorded.Name, s.Wall.Local().Format("15:04:05"), m.speed), true
	case m.options.Recorded != nil:
		return fmt.Sprintf("%s  %s  paused, %gx", m.options.Recorded.Name, s.Wall.Local().Format("15:04:05"), m.speed), true
	case m.link.State == Connecting:
		return "connecting", false
	case m.link.State == NoLab:
		return "no lab", false
	case m.link.State == Broken:
		return m.link.Text + m.retry(), false
	case s.Away > 0:
		return fmt.Sprintf("API away %s", seconds(s.Away)) + attempt(s), false
	case !m.live:
		return fmt.Sprintf("paused at %s, %s ago", s.Wall.Local().Format("15:04:05.0"), seconds(m.now-m.at)), true
	default:
		return "live", true
	}
}

// attempt says what is done about an API server that is away.
func attempt(s board.Snapshot) string {
	switch {
	case s.Attempt == 0:
		return ", waiting for an answer"
	case s.NextAttempt > 0:
		return fmt.Sprintf(", attempt %d in %s", s.Attempt, seconds(s.NextAttempt))
	default:
		return fmt.Sprintf(", attempt %d unanswered", s.Attempt)
	}
}

// retry says when the next attempt comes.
func (m model) retry() string {
	if m.link.Retry.IsZero() {
		return ""
	}
	return fmt.Sprintf(", attempt %d in %s", m.link.Attempt, seconds(m.link.Retry.Sub(m.clock).Seconds()))
}

// waiting is shown before anything was seen.
func (m model) waiting() []string {
	t := m.theme
	name, _ := m.linkText(board.Snapshot{})
	lines := []string{t.heading("labctl watch", "", m.width, false), ""}
	switch m.link.State {
	case NoLab:
		lines = append(lines, t.strong.Render("no lab is running: "+m.options.Up), "", cut(t.dim.Render("Type it in another terminal; this view connects as soon as there is one."), m.width),
			t.dim.Render("looked "+fmt.Sprint(m.link.Attempt)+" times, once a second"))
	case Broken:
		for _, l := range wrap(name, m.width) {
			lines = append(lines, t.bad.Render(l))
		}
	default:
		lines = append(lines, name)
	}
	return lines
}

// layout is how the lines of the main view are shared out.
type layout struct {
	lanes                []board.Lane
	failovers            []*board.Failover
	top, legend          []string
	laneRows, failedRows int
}

func (m model) layout(f frame) layout {
	l := layout{lanes: m.lanes(), failovers: keep(f.snap.Failovers, func(o *board.Failover) bool { return matchesFailover(m.filter, o) })}
	l.top, l.legend = append(f.head(), f.window(m.focus == focusWindow)...), f.laneLegend(l.lanes)
	room := m.height - 2 - len(l.top) - 2 - len(l.legend) // two headings
	l.laneRows = min(max(1, len(l.lanes)), max(1, room-min(3, max(1, len(l.failovers)))))
	l.failedRows = max(1, room-l.laneRows)
	if l.laneRows < len(l.lanes) { // who leads is always seen first
		slices.SortStableFunc(l.lanes, func(a, b board.Lane) int { return rank(a) - rank(b) })
	}
	return l
}

// main is the whole view.
func (m model) main() []string {
	f := m.frame()
	l := m.layout(f)
	lines := append(l.top, f.lanes(l.lanes, m.step, l.laneRows, m.scroll[focusLanes], m.focus == focusLanes)...)
	lines = append(lines, l.legend...)
	return append(lines, f.failovers(l.failovers, l.failedRows, m.scroll[focusFailovers], m.focus == focusFailovers)...)
}

// rank orders lanes that do not all fit: those that work or hold the Lease, then those that live.
func rank(l board.Lane) int {
	switch {
	case l.State == "overlap" || l.State == "works" || l.Holds:
		return 0
	case !l.Gone:
		return 1
	default:
		return 2
	}
}

// small is the head, the window and the last failover.
func (m model) small() []string {
	f := m.frame()
	text, style := f.verdict()
	link, ok := f.link, f.linkOK
	if ok {
		link = f.signs.live + " " + link
	} else {
		link = f.signs.away + " " + link
	}
	lines := []string{
		f.strong.Render(middle(f.holder(), m.width)),
		style.Render(cut(text, m.width)),
		cut(f.aged()+"  "+cut(link, m.width-20), m.width),
	}
	if w := f.snap.Now; w != nil {
		lines = append(lines, f.bar(*w, f.scale()), cut(fmt.Sprintf("%s %.1f  %s %.0f  %s %.1f%s%.1f", f.signs.now, w.Now, f.signs.lease, w.LeaseDuration, f.signs.range_, w.Earliest, f.signs.between, w.Latest), m.width))
	}
	if w := f.snap.Last; w != nil {
		lines = append(lines, f.bar(*w, f.scale()))
	}
	if len(f.snap.Failovers) > 0 {
		o := f.snap.Failovers[0]
		lines = append(lines, cut(fmt.Sprintf("%s %s %s %s", mode(o), class(o), f.lockGap(o), f.signs.arrow+" "+winnerOf(o)), m.width))
	}
	return lines
}

func winnerOf(o *board.Failover) string {
	if o.Trial.HolderAfter == nil {
		return "nobody yet"
	}
	return short(*o.Trial.HolderAfter)
}

// footer is the keys of the screen; ? and q are never left out.
func (m model) footer() string {
	k := m.keys
	bindings := []key.Binding{k.help, k.quit}
	switch m.screen {
	case screenHelp:
		bindings = append(bindings, k.back)
	case screenMain:
		if m.idle() {
			break
		}
		if !m.running {
			bindings = append(bindings, k.graceful, k.force, k.modes)
		}
		bindings = append(bindings, k.pause, k.slower, k.faster, bind("", "←→", "scrub"), k.end, k.focus, k.logs, k.filter, k.export, k.zoomIn)
	case screenModes:
		bindings = append(bindings, k.back, k.up, k.down, bind("enter", "enter", "choose"))
	case screenConfirm:
		bindings = append(bindings, k.back, k.yes)
	case screenLogs:
		bindings = append(bindings, k.back, bind("tab", "tab", "next replica"), k.up, k.down)
	}
	return row(m.theme, m.width, bindings...)
}

func plain(s string) string { return ansi.Strip(s) }

func durationOf(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
