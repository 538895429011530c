package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// answer is how long nobody led, for one mode.
type answer struct {
	Mode, Title, Action string
	// Says is the sentence before the figure: of a holder that lives on, only that it was not heard is known.
	Says   string
	Figure string // the lock gap of one trial, or the median of several
	Of     string // what the figure is of
	Range  string // empty for one trial
	// Predicted is the range of the model, and its mean and p95.
	Predicted, Mean string
	User            string
	Class, Winner   string
	Verdict         check.Verdict
	Void            bool // no trial of it counts
}

func newAnswer(g group, f Failover) answer {
	d, _ := fault.Describe(fault.Mode(g.mode))
	a := answer{Mode: g.mode, Title: title(g.mode), Action: d.Action, Says: "Nobody led for", Predicted: band(g.mode, f.Predicted),
		Verdict: judged(g, f.Header), User: "not seen",
		Class:  tally(g.trials, func(t timeline.Trial) string { return seen(t, string(t.Class)) }),
		Winner: tally(g.trials, func(t timeline.Trial) string { return seen(t, winner(t.Winner)) })}
	switch {
	case d.Silences:
		a.Says = "Nobody was heard to lead for"
	case d.LosesLease():
		a.Says = "No living process held the Lease for"
	case d.Kind == fault.OfServer:
		a.Says = "From the API server's return on, nobody led for"
	}
	if p, ok := f.Predicted[g.mode]; ok && p.MeanSeconds > 0 {
		a.Mean = fmt.Sprintf("mean %.2f s, 95 of 100 below %.1f s", p.MeanSeconds, p.P95Seconds)
	}
	if user := collect(g.trials, userGap); len(user) > 0 {
		a.User = fmt.Sprintf("%.2f s", quantile(user, 0.5)) + plusMinus(g.largest(userGapUncertainty))
	}
	lock := collect(g.trials, lockGap)
	if len(lock) == 0 {
		a.Void = true
		a.Of = "n = " + g.count() + ", none was measured"
		return a
	}
	a.Figure = fmt.Sprintf("%.2f s", quantile(lock, 0.5)) + plusMinus(g.largest(lockGapUncertainty))
	a.Of = "n = " + g.count()
	if len(lock) > 1 {
		a.Range = fmt.Sprintf("%.2f … %.2f s", lock[0], lock[len(lock)-1])
		a.Of = "the median, n = " + g.count()
	}
	if classes := g.classes(); classes > 1 { // their median would be nobody's
		a.Figure, a.Range = a.Range+plusMinus(g.largest(lockGapUncertainty)), ""
		a.Of = fmt.Sprintf("from the shortest to the longest of %d classes, n = %s", classes, g.count())
	}
	return a
}

// classes is of how many classes the measured lock gaps are.
func (g group) classes() int {
	seen := map[timeline.Class]bool{}
	for _, t := range g.trials {
		if t.LockGapSeconds != nil {
			seen[t.Class] = true
		}
	}
	return len(seen)
}

// judged is the verdict over the trials of one mode.
func judged(g group, h Header) check.Verdict {
	if !h.Modelled() {
		return check.Unknown
	}
	return NewFailover(h, g.trials, "").Verdict
}

// Modelled reports whether the model can be asked about the run's durations. Those of a damaged record may be any; the model's
// grid would be as large as they say.
func (h Header) Modelled() bool {
	lease, retry := h.Timing.LeaseDuration, h.Timing.RetryPeriod
	return retry >= 100*time.Millisecond && lease >= retry && lease <= 1000*retry && h.PodStartLatencySeconds >= 0 && h.PodStartLatencySeconds <= time.Hour.Seconds()
}

// strip draws the lock gaps of each mode into its predicted range, all on one axis; nil if there is nothing to draw.
func strip(groups []group, f Failover) *figure {
	longest, rows := 0.0, 0
	for _, g := range groups {
		lock := collect(g.trials, lockGap)
		if len(lock) == 0 {
			continue
		}
		rows++
		longest = max(longest, lock[len(lock)-1], f.Predicted[g.mode].MaxSeconds)
	}
	x, ok := newAxis(0, longest, 2, 98)
	if rows == 0 || !ok {
		return nil
	}
	fig := &figure{ID: "strip", Title: "Each measured lock gap, and the predicted range of its mode",
		Keys:  []key{{"band", "predicted range"}, {"dot", "one measured lock gap"}},
		Table: table{Head: []string{"what was done", "n", "predicted", "shortest", "median", "longest"}}}
	const row = 46
	fig.axis(x, 4, rows*row+4)
	y := 4
	for _, g := range groups {
		lock := collect(g.trials, lockGap)
		if len(lock) == 0 {
			continue
		}
		fig.text("name", 2, "start", y+14, fmt.Sprintf("%s, n = %d", clip(title(g.mode)), len(lock)))
		if p, ok := f.Predicted[g.mode]; ok {
			fig.rect("band", x, p.MinSeconds, p.MaxSeconds, y+22, 16)
		}
		for _, v := range lock {
			fig.upright("dot", x, v, y+20, y+40)
		}
		fig.Table.add(title(g.mode), fmt.Sprint(len(lock)), band(g.mode, f.Predicted), two(lock[0]), two(quantile(lock, 0.5)), two(lock[len(lock)-1]))
		y += row
	}
	fig.Desc = fig.Table.words()
	fig.Height = rows*row + 30
	return fig
}

// modelSource is the version of the library in which the model's terms were read.
func modelSource() string {
	source, _, _ := strings.Cut(gap.Explain(gap.Input{Standbys: 1}, timeline.Released)[0].Source, " tools/")
	return source
}

// took is how long the run took until its last trial was decided.
func took(trials []timeline.Trial, about About) string {
	var last time.Time
	for _, t := range trials {
		end := t.WallT0
		if t7, ok := t.Instant(timeline.T7); ok && t7 > 0 && t7 < math.MaxInt32 {
			end = end.Add(time.Duration(t7 * float64(time.Second)))
		}
		if end.After(last) {
			last = end
		}
	}
	if spent := last.Sub(about.StartedAt); !about.StartedAt.IsZero() && spent > 0 && spent < 366*24*time.Hour {
		return fmt.Sprintf("%.0f s, until the last takeover", spent.Seconds())
	}
	return "not known"
}

// command is a line to type, and what it does.
type command struct{ Line, Does string }

// commands do the run again, as far as its record tells.
func commands(f Failover, about About) []command {
	up := command{"labctl up --provider " + argument(cmp.Or(f.Provider, "embedded")), "makes the lab"}
	switch f.Provider {
	case "embedded":
		up.Line += fmt.Sprintf(" --pod-start-latency %gs", f.PodStartLatencySeconds)
	case "existing":
		up.Line += " --context CONTEXT --operator-image IMAGE"
	}
	line := "labctl failover"
	if len(about.Modes) > 0 {
		line += " --mode " + argument(strings.Join(about.Modes, ","))
	}
	line += fmt.Sprintf(" --trials %d --seed %d", about.TrialsEach, about.Seed)
	if f.Foreign {
		line += " --deployment " + argument(f.Operator) + " --lease " + argument(f.Lease)
	} else {
		line += settings(f.Header, about.Lanes)
	}
	name := argument(about.Name)
	again := []command{up, {line, "does the same trials; the same seed gives the same phases, and the rest is chance"}}
	if f.Virtual() {
		again = []command{{about.Again, "plays the same trial, to the nanosecond"}, {"labctl simulate", "plays ten thousand"}}
	}
	again = append(again, command{"labctl report " + name + " --format html --output " + argument(about.Name+".html"), "makes this page again from the recorded events"},
		command{"labctl replay " + name, "shows the events as they happened"})
	if f.Election == api.ElectionGuarded && f.Guards == nil && !f.Virtual() {
		again[1].Does += ". Which guards were on, and what was done on loss, is not recorded: labctl status tells it of a lab that is up"
	}
	return again
}

// settings are the flags that give the operator what it had.
func settings(h Header, lanes int) string {
	flags := ""
	if lanes > 1 {
		flags += fmt.Sprintf(" --lanes %d", lanes)
	}
	t := h.Timing
	flags += fmt.Sprintf(" --timing %g/%g/%g", t.LeaseDuration.Seconds(), t.RenewDeadline.Seconds(), t.RetryPeriod.Seconds())
	if h.Election != "" {
		flags += " --election " + argument(string(h.Election))
	}
	if h.Identity != "" {
		flags += " --identity " + argument(string(h.Identity))
	}
	if h.ReleaseOnCancel != nil {
		flags += fmt.Sprintf(" --release-on-cancel=%t", *h.ReleaseOnCancel)
	}
	if h.OnLoss != "" {
		flags += " --on-loss " + argument(string(h.OnLoss))
	}
	if h.Guards != nil {
		for _, g := range h.Guards.Each() {
			flags += fmt.Sprintf(" --%s=%t", g.Flag, *g.On)
		}
	}
	return flags
}

// argument is a text as one word of a shell's command.
func argument(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%,-"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
