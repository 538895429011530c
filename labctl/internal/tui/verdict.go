package tui

import (
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/board"
)

// verdict says in words who leads.
func (f frame) verdict() (string, *ink) {
	s := f.snap
	switch {
	case s.Lost > 0:
		return f.lost + "; last seen " + seconds(max(s.Lost, s.Heard)) + " ago", f.bad
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
	case s.Freed:
		return "NOBODY LEADS: released " + seconds(s.FreeFor) + " ago", f.alarm
	case s.FreeFor > 0:
		return "NOBODY LEADS: the record names nobody", f.alarm
	case s.AtLeast:
		return "NOBODY LEADS for " + seconds(s.Nobody) + " at least", f.alarm
	case s.Nobody > 0:
		return "NOBODY LEADS for " + seconds(s.Nobody), f.alarm
	case f.config.Followed:
		return f.standing()
	case !s.HolderLives && len(s.Leaders) > 0:
		return "has no process; " + names(s.Leaders) + " works without the Lease", f.alarm
	case !s.HolderLives:
		return "named; its process was not seen yet", f.hold
	case s.HolderWorks:
		return "leads: holds it and works", f.good
	default:
		return "holds it; no work seen", f.hold
	}
}

// standing is what can be said of the holder of a Lease of whose candidates nothing is known.
func (f frame) standing() (string, *ink) {
	s := f.snap
	duration := f.config.Timing.LeaseDuration.Seconds()
	switch {
	case s.Renewed && duration > 0 && s.Age > duration:
		return "expired: not renewed for " + long(s.Age), f.bad
	case s.Renewed:
		return "holds it", f.good
	case s.Ahead > 0:
		return "named; its renewTime is in the future", f.bad
	case f.config.SharedClock && !s.Lease.RenewTime.IsZero() && duration > 0 && s.Age > duration:
		return "expired " + long(s.Age-duration) + " ago, by its renewTime", f.bad
	default:
		return "named; no renewal was seen yet", f.hold
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
	line := "renewTime " + f.renewTime()
	if s.Away > 0 || s.Lost > 0 {
		line += f.bad.Render(" (stale)")
	}
	line += fmt.Sprintf("  leaseTransitions %d", s.Lease.Transitions)
	if s.Lease.Holder != "" {
		line += "  acquireTime " + f.clock(s.Lease.AcquireTime, "15:04:05")
	}
	return line
}

// renewTime is when the record was renewed, or released, and how long ago that was.
func (f frame) renewTime() string {
	s, t := f.snap, f.config.Timing
	text := f.clock(s.Lease.RenewTime, "15:04:05.000")
	switch {
	case s.Lease.RenewTime.IsZero():
		return f.bad.Render(text)
	case s.Ahead > 0:
		return text + ", " + f.bad.Render("in the future by "+long(s.Ahead))
	case !f.config.SharedClock && !s.Renewed && s.Lease.Holder != "":
		return text + ", by its holder's clock"
	case s.Freed:
		text += " (the release)"
	}
	style := f.good
	switch {
	case s.Age > t.LeaseDuration.Seconds():
		style = f.bad
	case s.Age > 1.5*t.RetryPeriod.Seconds()+0.5:
		style = f.hold
	}
	return text + ", " + style.Render(long(s.Age)+" ago")
}

// clock writes a time of the record: with its date if that is not the present one.
func (f frame) clock(t time.Time, layout string) string {
	if t.IsZero() {
		return "none"
	}
	local, now := t.Local(), f.snap.Wall.Local()
	if apart := now.Sub(local).Abs(); apart > time.Hour && local.YearDay() != now.YearDay() || apart > 24*time.Hour {
		layout = "2006-01-02 15:04:05"
	}
	return local.Format(layout)
}

// long writes a duration that may be years.
func long(v float64) string {
	const day = 24 * 60 * 60
	switch {
	case v < 600:
		return seconds(v)
	case v < 2*day:
		return strings.TrimSuffix(durationOf(v).Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%.0f d", v/day)
	}
}

// settings is what runs.
func (f frame) settings() string {
	c := f.config
	t := c.Timing
	switch {
	case c.Followed && f.snap.Lease == nil:
		return f.dim.Render("its durations are not known")
	case c.Followed && t.LeaseDuration == 0:
		return f.dim.Render("no leaseDurationSeconds in the record (no other setting is known)")
	case c.Followed && t.RetryPeriod == 0:
		return fmt.Sprintf("LeaseDuration %s  no two renewals seen yet (no other setting is known)", t.LeaseDuration)
	case c.Followed:
		return fmt.Sprintf("LeaseDuration %s  renewed every %s (no other setting is known)", t.LeaseDuration, t.RetryPeriod)
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

// aged is how old the record is, in few words.
func (f frame) aged() string {
	s := f.snap
	switch {
	case s.Lease == nil:
		return "no record"
	case s.Freed:
		return "released " + seconds(s.FreeFor) + " ago"
	case s.FreeFor > 0:
		return "names nobody"
	case s.Ahead > 0:
		return "renewTime in the future"
	case s.Lease.RenewTime.IsZero(), !s.Renewed && !f.config.SharedClock:
		return "no renewal seen"
	default:
		return "renewed " + long(s.Age) + " ago"
	}
}

// tiny is everything in one line, for a terminal that has room for no more: who leads, or why nobody does.
func (f frame) tiny() string {
	s := f.snap
	tenths := func(v float64) string { return fmt.Sprintf("%.1fs", max(0, v)) }
	who, what := short(f.holder()), ""
	if f.config.Followed {
		who = f.holder()
	}
	switch {
	case s.Lost > 0:
		who, what = f.lost, tenths(max(s.Lost, s.Heard))
	case !s.Known:
		who = f.link
	case s.Away > 0:
		who, what = "API away", fmt.Sprintf("%.0fs", s.Away)
	case len(s.Leaders) > 1:
		who = "TWO LEADERS"
	case s.Lease == nil:
		who = "no Lease"
	case s.Nobody > 0:
		who, what = "nobody leads", tenths(s.Nobody)
	case s.HolderWorks:
		what = "leads " + tenths(s.Age)
	case f.config.Followed && !s.Renewed:
		what = "named"
	case f.config.Followed && s.Age > f.config.Timing.LeaseDuration.Seconds():
		what = "expired " + tenths(s.Age)
	case s.HolderLives:
		what = "holds " + tenths(s.Age)
	default:
		what = "named " + tenths(s.Age)
	}
	return strings.TrimSpace(middle(who, f.width-lineWidth(what)-1) + " " + what)
}
