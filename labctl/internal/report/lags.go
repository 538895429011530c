package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

// Lags says how late labctl saw what happened in a run, after its sources wrote it down by the same clock.
type Lags struct {
	Schema string    `json:"schema"`
	Kind   string    `json:"kind"`
	Trials int       `json:"trials"`
	Rows   []LagsRow `json:"rows"` // one for each source, then all of them, then the instants of the trials alone
	Run    string    `json:"run"`
}

// LagsRow is the distribution of one source's lags, in seconds.
type LagsRow struct {
	Source     string  `json:"source"`
	N          int     `json:"n"`
	P50Seconds float64 `json:"p50Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	MaxSeconds float64 `json:"maxSeconds"`
}

// NewLags gathers the lags of a run's events and of the instants of its trials. T1 is labctl's own and has none.
func NewLags(f Failover, events []timeline.Event) Lags {
	out := Lags{Schema: Schema, Kind: "Lags", Trials: len(f.Trials), Rows: []LagsRow{}, Run: f.Run}
	by := map[timeline.Source][]float64{}
	var all, instants []float64
	begin := begins(events)
	for _, e := range events {
		source, written := written(e)
		if since, watched := begin[e.Lane]; written.IsZero() || !watched || written.Before(since) {
			continue // from before the watching
		}
		lag := max(0, e.Wall.Sub(written).Seconds())
		by[source], all = append(by[source], lag), append(all, lag)
	}
	for _, t := range f.Trials {
		for name, lag := range t.LagsSeconds {
			if name != timeline.T1 {
				instants = append(instants, lag)
			}
		}
	}
	for _, source := range []timeline.Source{timeline.SourceLease, timeline.SourceLog, timeline.SourceNode, timeline.SourceWork} {
		out.add(string(source), by[source])
	}
	out.add("all", all)
	out.add("T2–T7 of the trials", instants)
	return out
}

func (l *Lags) add(source string, lags []float64) {
	if len(lags) == 0 {
		return
	}
	slices.Sort(lags)
	l.Rows = append(l.Rows, LagsRow{Source: source, N: len(lags), P50Seconds: quantile(lags, 0.5), P99Seconds: quantile(lags, 0.99), MaxSeconds: lags[len(lags)-1]})
}

// written is when an event's source wrote it down; zero if it did not say.
func written(e timeline.Event) (timeline.Source, time.Time) {
	switch {
	case e.Kind == timeline.LeaseSeen && e.Lease != nil:
		return timeline.SourceLease, e.Lease.RenewTime
	case e.Kind == timeline.LogLine && e.Log != nil:
		return timeline.SourceLog, e.Log.Time
	case (e.Kind == timeline.ProcessUp || e.Kind == timeline.ProcessGone) && e.Process != nil:
		return timeline.SourceNode, e.Process.At
	case e.Kind == timeline.WorkSeen && e.Work != nil:
		return timeline.SourceWork, e.Work.At
	default:
		return "", time.Time{}
	}
}

// warmUp is how long the streams may take to open after the first one did. What was written before that waited for them.
const warmUp = time.Second

// begins is from when on each lane was watched, by the wall clock.
func begins(events []timeline.Event) map[int]time.Time {
	out := map[int]time.Time{}
	for _, e := range events {
		if _, known := out[e.Lane]; !known && e.Kind == timeline.LeaseSeen {
			out[e.Lane] = e.Wall.Add(warmUp)
		}
	}
	return out
}

// LagsText writes the distribution as a table, in milliseconds.
func LagsText(out io.Writer, l Lags) error {
	w := &sticky{out: out}
	w.printf("How late labctl sees what happens, after its source wrote it down by the same clock\n(ms; %d failovers, and the steady state between them)\n\n", l.Trials)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "source\tn\tp50\tp99\tmax\t")
	for _, r := range l.Rows {
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%.1f\t%.1f\t\n", r.Source, r.N, 1000*r.P50Seconds, 1000*r.P99Seconds, 1000*r.MaxSeconds)
	}
	table.Flush()
	return w.err
}
