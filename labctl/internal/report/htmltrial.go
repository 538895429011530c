package report

import (
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/timeline"
)

// trialPart is what the page tells of one trial.
type trialPart struct {
	N                       int
	Open                    bool
	Title, Mode, Class      string
	Predicted, Lock, User   string
	Overlap, Winner         string
	Transitions             string
	Why, Terms, Kubectl     string
	Void                    string
	Errors                  []string // equal ones once, with their number
	Causes                  []string // of the hand-overs
	Waterfall, Swimlane     *figure
	T0                      string
	Instants                []instantRow
	HolderBefore, NextOwner string
}

type instantRow struct{ Name, What, At, Source, Lag string }

// mostOpen is up to how many trials are shown unfolded.
const mostOpen = 6

func trialParts(f Failover, events []timeline.Event) []trialPart {
	records := cuts(events)
	if len(records) != len(f.Trials) {
		records = make([][]timeline.Event, len(f.Trials)) // not the events of these trials
	}
	var out []trialPart
	for i, t := range f.Trials {
		p := newTrialPart(i+1, t, f)
		p.Open = len(f.Trials) <= mostOpen
		p.Waterfall = waterfall(fmt.Sprintf("waterfall-%d", i+1), t, f.Header)
		p.Swimlane = swimlane(fmt.Sprintf("swimlane-%d", i+1), t, records[i], f.Header)
		out = append(out, p)
	}
	return out
}

// cuts are the events of each trial, in the order of timeline.Trials.
func cuts(events []timeline.Event) [][]timeline.Event {
	byNumber := map[int][]timeline.Event{}
	var numbers []int
	for _, lane := range timeline.Lanes(events) {
		own := timeline.Lane(events, lane)
		for i, e := range own {
			if _, done := byNumber[e.Trial]; e.Kind == timeline.TrialEnded && !done {
				byNumber[e.Trial] = timeline.Cut(own[:i+1], e.Trial)
				numbers = append(numbers, e.Trial)
			}
		}
	}
	slices.Sort(numbers)
	var out [][]timeline.Event
	for _, n := range numbers {
		out = append(out, byNumber[n])
	}
	return out
}

func newTrialPart(n int, t timeline.Trial, f Failover) trialPart {
	p := trialPart{N: n, Title: title(t.Mode), Mode: t.Mode, Class: string(t.Class), Predicted: band(t.Mode, f.Predicted),
		Lock: seen(t, seconds(t.LockGapSeconds)+plusMinus(t.UncertaintySeconds)), User: seen(t, seconds(t.GapSeconds)+plusMinus(t.GapUncertaintySeconds)),
		Overlap: seen(t, overlapWords(t)), Winner: seen(t, winner(t.Winner)), Transitions: fmt.Sprintf("%d → not seen", t.TransitionsBefore),
		Why: capital(Why(t, f.Timing)), Terms: Terms(t), Kubectl: t.Kubectl, Void: t.Void, Errors: times(t.Errors), HolderBefore: known(t.HolderBefore), NextOwner: "not seen"}
	for _, h := range t.HandOvers {
		p.Causes = append(p.Causes, cause(h))
	}
	if t.TransitionsAfter != nil {
		p.Transitions = fmt.Sprintf("%d → %d", t.TransitionsBefore, *t.TransitionsAfter)
	}
	if t.HolderAfter != nil {
		p.NextOwner = known(*t.HolderAfter)
	}
	if t.Lane > 0 {
		p.Title += fmt.Sprintf(", lane %d", t.Lane)
	}
	if !t.WallT0.IsZero() {
		p.T0 = t.WallT0.UTC().Format("2006-01-02 15:04:05.000 UTC")
	}
	p.Instants = append(p.Instants, instantRow{"T0", "the command is about to be sent", "0.000 s", "labctl", "0.000 s"})
	for _, name := range timeline.Instants() {
		p.Instants = append(p.Instants, instantOf(t, name))
	}
	return p
}

// FewErrors reports whether they can be shown unfolded.
func (p trialPart) FewErrors() bool { return len(p.Errors) <= 3 }

// capital begins a sentence.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// times tells equal texts once, with their number.
func times(texts []string) []string {
	counts := map[string]int{}
	var out []string
	for _, text := range texts {
		if counts[text]++; counts[text] == 1 {
			out = append(out, text)
		}
	}
	for i, text := range out {
		if n := counts[text]; n > 1 {
			out[i] = fmt.Sprintf("%s (%d×)", text, n)
		}
	}
	return out
}

// overlapWords says how long two leaders worked at a time.
func overlapWords(t timeline.Trial) string {
	switch {
	case t.OverlapSeconds == nil:
		return "not seen"
	case *t.OverlapSeconds == 0:
		return "none"
	default:
		return two(*t.OverlapSeconds) + plusMinus(t.OverlapUncertaintySeconds)
	}
}

func instantOf(t timeline.Trial, name string) instantRow {
	row := instantRow{name, instantWords[name], "not seen", "–", "–"}
	at, seen := t.Instant(name)
	if !seen {
		return row
	}
	row.At, row.Source, row.Lag = fmt.Sprintf("%.3f s", at), timeline.Visible(string(t.Sources[name])), "not known"
	if row.Source == "" {
		row.Source = "not known"
	}
	if late, known := t.LagsSeconds[name]; known {
		row.Lag = fmt.Sprintf("%.3f s", late)
	}
	return row
}
