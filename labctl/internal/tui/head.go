package tui

import (
	"fmt"
	"math"
	"strings"
	"time"

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

// verdict says in words who leads.
func (f frame) verdict() (string, *ink) {
	s := f.snap
	open := s.Now != nil && s.Now.Failover != nil
	switch {
	case !s.Known:
		return "this Lease was not seen yet", f.dim
	case s.Away > 0:
		return fmt.Sprintf("STALE: last heard %s ago", seconds(max(s.Away, s.Heard))), f.alarm
	case len(s.Leaders) > 2:
		return fmt.Sprintf("%s %d LEADERS work at once", f.signs.cells[board.CellOverlap], len(s.Leaders)), f.alarm
	case len(s.Leaders) > 1:
		return f.signs.cells[board.CellOverlap] + " TWO LEADERS: " + names(s.Leaders), f.alarm
	case s.Lease == nil:
		return "the Lease does not exist", f.bad
	case s.FreeFor > 0:
		return fmt.Sprintf("NOBODY LEADS: released %s ago", seconds(s.FreeFor)), f.alarm
	case open && !math.IsNaN(s.Now.Free):
		return "NOBODY LEADS for " + seconds(s.Now.Now-s.Now.Free), f.alarm
	case f.config.Followed && s.Age > f.config.Timing.LeaseDuration.Seconds():
		return "expired", f.bad
	case f.config.Followed:
		return "holds it", f.good
	case !s.HolderLives && len(s.Leaders) > 0:
		return "has no process; " + names(s.Leaders) + " works without the Lease", f.alarm
	case !s.HolderLives:
		return "named, but its process does not live", f.alarm
	case s.HolderWorks:
		return "leads: holds it and works", f.good
	default:
		return "holds it; no work seen", f.hold
	}
}

func names(identities []string) string {
	var out []string
	for _, i := range identities {
		out = append(out, short(i))
	}
	return strings.Join(out, " and ")
}

// seconds writes a duration in tenths, as it ticks.
func seconds(v float64) string { return fmt.Sprintf("%.1f s", max(0, v)) }

func hundredths(v float64) string { return fmt.Sprintf("%.2f s", v) }

// record is what the Lease says.
func (f frame) record() string {
	s := f.snap
	if s.Lease == nil || !s.Known {
		return f.dim.Render("nothing is recorded")
	}
	age := seconds(s.Age)
	style := f.good
	switch t := f.config.Timing; {
	case s.Age > t.LeaseDuration.Seconds():
		style = f.bad
	case s.Age > 1.5*t.RetryPeriod.Seconds()+0.5:
		style = f.hold
	}
	line := "renewTime " + clock(s.Lease.RenewTime, "15:04:05.000") + ", " + style.Render(age+" ago")
	if s.Away > 0 {
		line += f.bad.Render(" (stale)")
	}
	return line + fmt.Sprintf("  leaseTransitions %d  acquireTime %s", s.Lease.Transitions, clock(s.Lease.AcquireTime, "15:04:05"))
}

func clock(t time.Time, layout string) string {
	if t.IsZero() {
		return "none"
	}
	return t.Local().Format(layout)
}

// settings is what runs.
func (f frame) settings() string {
	c := f.config
	t := c.Timing
	if c.Followed && t.LeaseDuration == 0 {
		return f.dim.Render("its durations are not known")
	}
	if c.Followed {
		return fmt.Sprintf("LeaseDuration %s  renewed every %s (its other settings are not known)", t.LeaseDuration, t.RetryPeriod)
	}
	line := fmt.Sprintf("LeaseDuration %s  RenewDeadline %s  RetryPeriod %s", t.LeaseDuration, t.RenewDeadline, t.RetryPeriod)
	if c.ReleaseOnCancel == nil {
		return line
	}
	release := "release on"
	if !*c.ReleaseOnCancel {
		release = "release off"
	}
	if f.width >= 110 {
		return line + fmt.Sprintf("  election %s  identity %s  ReleaseOnCancel %t", c.Election, c.Identity, *c.ReleaseOnCancel)
	}
	return line + "  " + f.dim.Render(strings.Join([]string{string(c.Election), string(c.Identity), release}, ", "))
}

// tiny is everything in one line, for a terminal that has room for no more.
func (f frame) tiny() string {
	s := f.snap
	age := fmt.Sprintf("%.1fs", s.Age)
	who := short(f.holder())
	switch {
	case !s.Known:
		who, age = f.link, ""
	case s.Away > 0:
		who, age = "API away", fmt.Sprintf("%.0fs", s.Away)
	case len(s.Leaders) > 1:
		who, age = "TWO LEADERS", ""
	case s.Now != nil && s.Now.Failover != nil && !math.IsNaN(s.Now.Free):
		who, age = "nobody", fmt.Sprintf("%.1fs", s.Now.Now-s.Now.Free)
	}
	return strings.TrimSpace(middle(who, f.width-lineWidth(age)-1) + " " + age)
}
