package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/timeline"
)

// Lags says how late labctl saw the instants of a run's trials, after their sources wrote them down by the same clock.
type Lags struct {
	Schema string    `json:"schema"`
	Kind   string    `json:"kind"`
	Trials int       `json:"trials"`
	Rows   []LagsRow `json:"rows"` // one for each source, and the last for all
	Run    string    `json:"run"`
}

// LagsRow is the distribution of one source's lags, in seconds.
type LagsRow struct {
	Source     string   `json:"source"`
	Instants   []string `json:"instants"`
	N          int      `json:"n"`
	P50Seconds float64  `json:"p50Seconds"`
	P99Seconds float64  `json:"p99Seconds"`
	MaxSeconds float64  `json:"maxSeconds"`
}

// NewLags gathers the lags of all instants but T1, which is labctl's own.
func NewLags(f Failover) Lags {
	out := Lags{Schema: Schema, Kind: "Lags", Trials: len(f.Trials), Rows: []LagsRow{}, Run: f.Run}
	by, names := map[string][]float64{}, map[string]map[string]bool{}
	add := func(source, instant string, lag float64) {
		by[source] = append(by[source], lag)
		if names[source] == nil {
			names[source] = map[string]bool{}
		}
		names[source][instant] = true
	}
	for _, t := range f.Trials {
		for instant, lag := range t.LagsSeconds {
			if source := t.Sources[instant]; source != timeline.SourceCommand {
				add(string(source), instant, lag)
				add(allSources, instant, lag)
			}
		}
	}
	for _, source := range slices.SortedFunc(maps.Keys(by), lastAll) {
		lags := slices.Sorted(slices.Values(by[source]))
		out.Rows = append(out.Rows, LagsRow{Source: source, Instants: slices.Sorted(maps.Keys(names[source])), N: len(lags),
			P50Seconds: quantile(lags, 0.5), P99Seconds: quantile(lags, 0.99), MaxSeconds: lags[len(lags)-1]})
	}
	return out
}

// allSources names the row of all instants; it comes last.
const allSources = "all"

func lastAll(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == allSources:
		return 1
	case b == allSources || a < b:
		return -1
	default:
		return 1
	}
}

// LagsText writes the distribution as a table, in milliseconds.
func LagsText(out io.Writer, l Lags) error {
	w := &sticky{out: out}
	w.printf("How late labctl sees an instant, after its source wrote it down by the same clock (ms, %d trials)\n\n", l.Trials)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "source\tinstants\tn\tp50\tp99\tmax\t")
	for _, r := range l.Rows {
		fmt.Fprintf(table, "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\t\n", r.Source, strings.Join(r.Instants, " "), r.N, 1000*r.P50Seconds, 1000*r.P99Seconds, 1000*r.MaxSeconds)
	}
	table.Flush()
	return w.err
}
