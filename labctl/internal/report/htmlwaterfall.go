package report

import (
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// part is one bar of a waterfall, from one moment to another in seconds after T0. Its name begins with the sign with which
// its length counts.
type part struct {
	Name, SetBy, Class string
	From, To, Length   float64
}

// waterfall draws what a trial's gaps consist of, each part with the flag that sets it; nil where nothing of it is known.
func waterfall(id string, t timeline.Trial, h Header) *figure {
	parts := parts(t, h)
	if len(parts) == 0 {
		return nil
	}
	parts = append(parts, sums(t)...)
	from, to := 0.0, 0.0
	for _, p := range parts {
		from, to = min(from, p.From), max(to, p.To)
	}
	x, ok := newAxis(from, to, 2, 98)
	if !ok {
		return nil
	}
	fig := &figure{ID: id, Title: "What the gap of this trial consists of",
		Table: table{Head: []string{"part", "length", "from", "to", "set by"}}}
	const row = 48
	bottom := len(parts)*row + 4
	fig.axis(x, 4, bottom)
	for i, p := range parts {
		y := 4 + i*row
		if from < 0 { // T0, beside the bars: a line from top to bottom would go through the words
			fig.upright("zero", x, 0, y+29, y+46)
		}
		fig.text("name", 2, "start", y+13, p.Name+"  "+two(p.Length))
		fig.text("flag", 2, "start", y+27, p.SetBy)
		fig.rect(p.Class, x, p.From, p.To, y+32, 11)
		fig.Table.add(p.Name, two(p.Length), two(p.From), two(p.To), p.SetBy)
	}
	fig.Height = bottom + 24
	fig.Desc = "In seconds after the command (T0). " + fig.Table.words()
	fig.Note = "The axis is in seconds after the command (T0)."
	return fig
}

// parts are the bars of a trial, as far as they are known, in the order in which they pass.
func parts(t timeline.Trial, h Header) []part {
	t5, taken := t.Instant(timeline.T5)
	if t.Void != "" || !taken {
		return nil
	}
	var out []part
	switch {
	case t.Class == timeline.Released:
		out = released(t, h, t5)
	case t.Class == timeline.Expired && t.Terms != nil && t.Terms.AgeSeconds != nil && t.Terms.ObservationSeconds != nil && t.Terms.LeaseDurationSeconds != nil:
		out = expired(t, h, t5)
	default:
		out = untold(t, t5)
	}
	if t7, seen := t.Instant(timeline.T7); seen {
		out = append(out, span("work begins", "no flag: the next holder's first reconcile", "work", t5, t7))
	}
	return out
}

// span is a part whose length counts as it is.
func span(name, setBy, class string, from, to float64) part {
	return part{name, setBy, class, from, to, to - from}
}

func expired(t timeline.Trial, h Header, t5 float64) []part {
	gone, seen := t.Instant(timeline.T3)
	if !seen {
		return untold(t, t5)
	}
	age, observed, lease := *t.Terms.AgeSeconds, *t.Terms.ObservationSeconds, *t.Terms.LeaseDurationSeconds
	renewal := gone - age
	first := span("− age of the last renewal", setBy(h, api.FlagRetryPeriod, h.Timing.RetryPeriod), "age", renewal, gone)
	if age < 0 { // the holder renewed once more after the fault
		first = span("+ until the next renewal", first.SetBy, "age", gone, renewal)
	}
	return append([]part{
		first,
		span("+ observation lag", polls(t, h), "observation", renewal, renewal+observed),
		span("+ LeaseDuration", setBy(h, api.FlagLeaseDuration, time.Duration(lease*float64(time.Second))), "lease", renewal+observed, renewal+observed+lease),
	}, takeover(t, h, renewal+observed+lease, t5)...)
}

func released(t timeline.Trial, h Header, t5 float64) []part {
	t4, seen := t.Instant(timeline.T4)
	if !seen {
		return untold(t, t5)
	}
	var out []part
	signal := 0.0
	if t2, logged := t.Instant(timeline.T2); logged && t2 >= 0 && t2 <= t4 {
		signal = t2
		out = append(out, span("command → signal", "no flag: the API server and the node", "command", 0, t2))
	}
	release := "ReleaseOnCancel"
	if !h.Foreign {
		release = "--" + api.FlagReleaseOnCancel + "=" + yes(h.ReleaseOnCancel)
	}
	out = append(out, span("signal → release", release, "release", signal, t4))
	if t.Terms == nil {
		return append(out, span("+ until a candidate took it", "its parts are not known: no request logged", "untold", t4, t5))
	}
	return append(out, takeover(t, h, t4, t5)...)
}

// takeover are the poll phase and what was left of the gap.
func takeover(t timeline.Trial, h Header, free, t5 float64) []part {
	taken := free + t.Terms.PollPhaseSeconds
	rest := part{"+ the takeover's requests", "no flag: a read and a write, and their event", "residual", taken, t5, t.Terms.ResidualSeconds}
	if rest.Length < 0 {
		rest.Name, rest.SetBy, rest.From, rest.To, rest.Length = "− beginning seen late", "no flag: the gap's beginning was seen late", t5, taken, -rest.Length
	}
	return []part{span("+ poll phase", polls(t, h), "poll", free, taken), rest}
}

// untold is a gap whose parts are not known.
func untold(t timeline.Trial, t5 float64) []part {
	gone, seen := t.Instant(timeline.T3)
	if !seen {
		return []part{span("until the next holder", "its beginning was not seen", "untold", 0, t5)}
	}
	rest, setBy := "+ until the next holder", "its parts are not known: no request logged"
	if t.Class == timeline.SameIdentity {
		rest, setBy = "+ restart in place", "no flag: the node restarts the container"
	}
	return []part{span(groundOf(t).until, "no flag: what was done took so long", "command", 0, gone), span(rest, setBy, "untold", gone, t5)}
}

// sums are the two gaps themselves.
func sums(t timeline.Trial) []part {
	var out []part
	t5, taken := t.Instant(timeline.T5)
	if t.LockGapSeconds != nil && taken {
		out = append(out, span("= lock gap", groundOf(t).means, "sum", t5-*t.LockGapSeconds, t5))
	}
	if t7, works := t.Instant(timeline.T7); works && t.GapSeconds != nil {
		out = append(out, span("user gap", "from the command to the first reconcile", "sum", 0, t7))
	}
	return out
}

// polls says what sets the pause between two polls of who took the Lease.
func polls(t timeline.Trial, h Header) string {
	if t.Winner == timeline.Replacement && t.Class == timeline.Released {
		return "no flag: when the replacement first polled"
	}
	return setBy(h, api.FlagRetryPeriod, h.Timing.RetryPeriod) + " · (1 … 2.2)"
}

// setBy is a flag with its value; of an operator that is not the lab's, the setting, since its flag is not known.
func setBy(h Header, flag string, value time.Duration) string {
	if !h.Foreign {
		return fmt.Sprintf("--%s=%s", flag, value)
	}
	if flag == api.FlagLeaseDuration {
		return fmt.Sprintf("LeaseDuration %s", value)
	}
	return fmt.Sprintf("RetryPeriod %s", value)
}

// ground is what a lock gap begins with, for the waterfall and for the lanes; what the gap is; and what the Lease says meanwhile.
type ground struct{ until, lane, means, named string }

func groundOf(t timeline.Trial) ground {
	g := ground{"command → process gone", "nobody leads; the record runs out", "no living process holds the Lease", "in the name of a process that is gone"}
	d, _ := fault.Describe(fault.Mode(t.Mode))
	switch {
	case t.Class == timeline.Released:
		g.lane = "nobody leads; released, and free"
	case d.Silences:
		g = ground{"command → silence", "nobody is heard; the record runs out", "no process that is heard holds the Lease", "in the name of one that is unheard"}
	case d.Kind == fault.OfServer:
		g = ground{"command → the API server is back", "back, and nobody leads yet", "from the API server's return", "in the name of one that gave up"}
	case t.Class == timeline.Stolen:
		g.until, g.lane = "command → theft", "nobody leads; the record runs out"
	case t.Class == timeline.Deleted:
		g.until, g.lane = "command → deletion", "nobody leads; there is no Lease"
	case t.Class == timeline.SameIdentity:
		g.lane = "nobody leads, until the restart"
	}
	return g
}
