package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Text writes the run for people: what was configured, why each gap was what it was, one row for each mode, the verdict.
func Text(out io.Writer, f Failover) error {
	w, f := &sticky{out: out}, f.visible()
	w.printf("%s\n%s\n\n", subject(f.Header), durations(f.Timing))
	groups := byMode(f.Trials)
	if single(groups) {
		for _, t := range f.Trials {
			explain(w, t, f)
		}
	}
	if single(groups) {
		singles(w, groups, f.Predicted)
	} else {
		figures(w, groups, f.Predicted)
		kinds(w, groups)
	}
	w.printf("\nlock gap: no process that is heard holds the Lease.\nuser gap: from the command to the successor's first reconcile.\n±: how late labctl saw it; of several trials, the largest.\n")
	if told := allowance(f); told != "" {
		w.printf("%s\n", told)
	}
	verdict(w, f)
	return w.err
}

// singles is the table of a run with one trial of each mode.
func singles(w *sticky, groups []group, predicted map[string]gap.Prediction) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT WAS DONE\tCLASS\tPREDICTED\tLOCK GAP\tUSER GAP\tWINNER")
	for _, g := range groups {
		t := g.trials[0]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", title(t.Mode), t.Class, band(t.Mode, predicted),
			seen(t, seconds(t.LockGapSeconds)+plusMinus(t.UncertaintySeconds)), seen(t, seconds(t.GapSeconds)+plusMinus(t.GapUncertaintySeconds)),
			seen(t, winner(t.Winner)))
	}
	table.Flush()
}

// figures is the table of the gaps of several trials of a mode, and kinds that of how they came about.
func figures(w *sticky, groups []group, predicted map[string]gap.Prediction) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT WAS DONE\tN\tPREDICTED\tLOCK GAP min/median/max\tUSER GAP median")
	for _, g := range groups {
		lock, user := collect(g.trials, lockGap), collect(g.trials, userGap)
		spread, median := "–", "–"
		if len(lock) > 0 {
			spread = fmt.Sprintf("%.2f / %.2f / %.2f s", lock[0], quantile(lock, 0.5), lock[len(lock)-1]) + plusMinus(g.largest(lockGapUncertainty))
		}
		if len(user) > 0 {
			median = fmt.Sprintf("%.2f s", quantile(user, 0.5)) + plusMinus(g.largest(userGapUncertainty))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", title(g.mode), g.count(), band(g.mode, predicted), spread, median)
	}
	table.Flush()
}

func kinds(w *sticky, groups []group) {
	w.printf("\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHAT WAS DONE\tCLASS\tWINNER")
	for _, g := range groups {
		fmt.Fprintf(table, "%s\t%s\t%s\n", title(g.mode), tally(g.trials, func(t timeline.Trial) string { return seen(t, string(t.Class)) }),
			tally(g.trials, func(t timeline.Trial) string { return seen(t, winner(t.Winner)) }))
	}
	table.Flush()
	if causes := causes(groups); causes != "" {
		w.printf("\nhand-overs: %s; %s\n", causes, leaderless(groups))
	}
	if told := overlaps(groups); told != "" {
		w.printf("\n%s\n", told)
	}
}

// cause tells one hand-over and what shows why it came.
func cause(h timeline.HandOver) string {
	return fmt.Sprintf("%s: %s → %s after %.2f s: %s", h.Cause, Short(h.From), Short(h.To), h.AtSeconds, h.Evidence)
}

// causes counts the hand-overs of all trials by what caused them, each with the seconds in which nobody could hold the Lease.
func causes(groups []group) string {
	var all []timeline.HandOver
	for _, g := range groups {
		for _, t := range g.trials {
			all = append(all, t.HandOvers...)
		}
	}
	return strings.Join(count(all, func(h timeline.HandOver) string { return string(h.Cause) }, "%s %d"), ", ")
}

// seen is the text for a good trial, and void for one that does not count.
func seen(t timeline.Trial, text string) string {
	if t.Void != "" {
		return "void"
	}
	return text
}

// count is how many trials there are, and of how many the figures are if not of all.
func (g group) count() string {
	good := 0
	for _, t := range g.trials {
		if t.Void == "" {
			good++
		}
	}
	if good == len(g.trials) {
		return fmt.Sprint(good)
	}
	return fmt.Sprintf("%d of %d", good, len(g.trials))
}

// Figures of a trial, by name.
func lockGap(t timeline.Trial) *float64            { return t.LockGapSeconds }
func userGap(t timeline.Trial) *float64            { return t.GapSeconds }
func lockGapUncertainty(t timeline.Trial) *float64 { return t.UncertaintySeconds }
func userGapUncertainty(t timeline.Trial) *float64 { return t.GapUncertaintySeconds }

func explain(w *sticky, t timeline.Trial, f Failover) {
	w.printf("%s\n", title(t.Mode))
	w.printf("  why      %s\n", Wrap(Why(t, f.Timing), 78, 11))
	for _, h := range t.HandOvers {
		w.printf("  cause    %s\n", Wrap(cause(h), 78, 11))
	}
	if terms := Terms(t); terms != "" {
		w.printf("  terms    %s\n", Wrap(terms, 78, 11))
	}
	if t.TransitionsAfter != nil {
		w.printf("  lease    %s → %s\n           leaseTransitions %d → %d\n", t.HolderBefore, *t.HolderAfter, t.TransitionsBefore, *t.TransitionsAfter)
	}
	d, _ := fault.Describe(fault.Mode(t.Mode))
	if t.Kubectl != "" {
		w.printf("  kubectl  %s\n", t.Kubectl)
	} else if d.NoKubectl != "" {
		w.printf("  kubectl  – (%s)\n", d.NoKubectl)
	}
	w.printf("\n")
}

// Wrap breaks a sentence at spaces so that no line is longer than width; every line but the first is indented, and the
// first is assumed to begin at the indent.
func Wrap(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

func verdict(w *sticky, f Failover) {
	if f.Cut != "" {
		w.printf("\n%s\n", Wrap(fmt.Sprintf("the run ended after %d of %d trials: %s", f.N, f.Requested, f.Cut), 80, 0))
	}
	if void := uncounted(f.Trials); void != "" {
		w.printf("\n%s\n", Wrap(void, 80, 0))
	}
	what := "the predicted range is checked, not the distribution"
	if slices.ContainsFunc(f.Checks, func(c check.Check) bool { return c.Name == check.Distribution }) {
		what = "the predicted range and the distribution are checked"
	}
	w.printf("\nverdict: %s (n = %s; %s)\n", f.Verdict, group{trials: f.Trials}.count(), what)
	if f.Foreign {
		w.printf("not judged: what the class should be%s\n", unlessShown(f.Checks, ", and whether two worked at a time"))
	}
	for _, c := range f.Checks {
		if c.Verdict != check.Pass && c.Name != check.Undisturbed && c.Reason != check.NoneCounts { // which was told above
			w.printf("  %s\n", Wrap(fmt.Sprintf("%s: %s: %s", c.Verdict, c.Name, c.Reason), 80, 2))
		}
	}
}

// unlessShown is the text, unless two leaders were looked for.
func unlessShown(checks []check.Check, text string) string {
	if slices.ContainsFunc(checks, func(c check.Check) bool { return c.Name == check.Overlap }) {
		return ""
	}
	return text
}

// uncounted says how many trials are void, and why; "" if none is.
func uncounted(trials []timeline.Trial) string {
	var void []timeline.Trial
	for _, t := range trials {
		if t.Void != "" {
			void = append(void, t)
		}
	}
	verb := "do"
	switch len(void) {
	case 0:
		return ""
	case 1:
		verb = "does"
	}
	reasons := strings.Join(count(void, func(t timeline.Trial) string { return t.Void }, "%s (%d×)"), "; ")
	if len(void) == 1 {
		reasons = void[0].Void
	}
	if len(trials) == 1 {
		return "the trial does not count: " + reasons
	}
	return fmt.Sprintf("%d of %d trials %s not count: %s", len(void), len(trials), verb, reasons)
}

// subject says what was measured.
func subject(h Header) string {
	if h.Foreign {
		return fmt.Sprintf("%s on %s, Lease %s; what needs the lab operator's logs is not seen", h.Operator, h.Provider, h.Lease)
	}
	if h.Virtual() {
		return fmt.Sprintf("client-go's election in virtual time, simulated: no cluster, no pods. Election %s, ReleaseOnCancel %s", h.Election, yes(h.ReleaseOnCancel))
	}
	if h.Program != "" {
		return fmt.Sprintf("%s on %s, in the place of academy-operator and judged like it: election %s, identity %s, ReleaseOnCancel %s",
			h.Program, h.Provider, h.Election, h.Identity, yes(h.ReleaseOnCancel))
	}
	return fmt.Sprintf("academy-operator on %s, election %s, identity %s, ReleaseOnCancel %s", h.Provider, h.Election, h.Identity, yes(h.ReleaseOnCancel))
}

func yes(b *bool) string {
	if b == nil {
		return "not known"
	}
	return strconv.FormatBool(*b)
}

func durations(t api.Timing) string {
	renew := "not known"
	if t.RenewDeadline > 0 {
		renew = t.RenewDeadline.String()
	}
	return fmt.Sprintf("LeaseDuration %s   RenewDeadline %s   RetryPeriod %s", t.LeaseDuration, renew, t.RetryPeriod)
}

// group is the trials of one mode, in the order they were done.
type group struct {
	mode   string
	trials []timeline.Trial
}

// largest is the largest of a figure in the group; nil if it was never seen.
func (g group) largest(figure func(timeline.Trial) *float64) *float64 {
	values := collect(g.trials, figure)
	if len(values) == 0 {
		return nil
	}
	return &values[len(values)-1]
}

func byMode(trials []timeline.Trial) []group {
	var groups []group
	for _, t := range trials {
		i := slices.IndexFunc(groups, func(g group) bool { return g.mode == t.Mode })
		if i < 0 {
			groups = append(groups, group{mode: t.Mode})
			i = len(groups) - 1
		}
		groups[i].trials = append(groups[i].trials, t)
	}
	return groups
}

func single(groups []group) bool {
	return !slices.ContainsFunc(groups, func(g group) bool { return len(g.trials) > 1 })
}

func title(mode string) string {
	if d, ok := fault.Describe(fault.Mode(mode)); ok {
		return d.Title
	}
	return mode
}

// Band writes a predicted range.
func Band(p gap.Prediction) string { return fmt.Sprintf("%.1f–%.1f s", p.MinSeconds, p.MaxSeconds) }

func band(mode string, predicted map[string]gap.Prediction) string {
	if p, ok := predicted[mode]; ok {
		return Band(p)
	}
	return "–"
}

// plusMinus writes how far a figure may be off, rounded up to hundredths; "" if that is not known.
func plusMinus(uncertainty *float64) string {
	if uncertainty == nil {
		return ""
	}
	return fmt.Sprintf(" ± %.2f", math.Ceil(*uncertainty*100-1e-9)/100+0) // + 0: no negative zero
}

func seconds(v *float64) string {
	if v == nil {
		return "not seen"
	}
	return fmt.Sprintf("%.2f s", *v)
}

func winner(w timeline.Winner) string {
	if w == "" {
		return "not seen"
	}
	return string(w)
}

// collect returns the figures that were seen, sorted.
func collect(trials []timeline.Trial, figure func(timeline.Trial) *float64) []float64 {
	var values []float64
	for _, t := range trials {
		if v := figure(t); v != nil {
			values = append(values, *v)
		}
	}
	slices.Sort(values)
	return values
}

// quantile interpolates between the sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// tally counts equal words: "standby 7, replacement 3".
func tally(trials []timeline.Trial, word func(timeline.Trial) string) string {
	return strings.Join(count(trials, word, "%s %d"), ", ")
}

// count counts equal words, the most frequent first, and formats each with its number.
func count[T any](trials []T, word func(T) string, format string) []string {
	counts := map[string]int{}
	var order []string
	for _, t := range trials {
		w := word(t)
		if counts[w] == 0 {
			order = append(order, w)
		}
		counts[w]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	var parts []string
	for _, w := range order {
		parts = append(parts, fmt.Sprintf(format, w, counts[w]))
	}
	return parts
}

// sticky is a writer that remembers its first error.
type sticky struct {
	out io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.out.Write(p)
	s.err = err
	return n, err
}

func (s *sticky) printf(format string, args ...any) { fmt.Fprintf(s, format, args...) }
