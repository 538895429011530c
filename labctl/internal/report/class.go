package report

import (
	"bytes"
	"cmp"
	_ "embed" // the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

//go:embed class.tmpl
var classPage string

// Pool is the lock gaps of one mode and class over several runs that were made with the same settings.
type Pool struct {
	Mode   string         `json:"mode"`
	Class  timeline.Class `json:"class"`
	Timing string         `json:"timing"` // the three durations in seconds, 15/10/2
	Runs   int            `json:"runs"`
	N      int            `json:"n"` // gaps; void trials have none
	// The gaps that were measured, and the range that the model gives, in seconds.
	MinSeconds          float64 `json:"minSeconds"`
	MedianSeconds       float64 `json:"medianSeconds"`
	MaxSeconds          float64 `json:"maxSeconds"`
	PredictedMinSeconds float64 `json:"predictedMinSeconds"`
	PredictedMaxSeconds float64 `json:"predictedMaxSeconds"`
	// Checks are those of all these trials: whether each gap is in its band, and from 30 gaps on whether they are spread as the
	// model says.
	Checks []check.Check `json:"checks"`

	header Header
	trials []timeline.Trial
}

// Pools puts the trials of runs together by settings, mode and class, those with the most gaps first.
func Pools(runs []Failover) []Pool {
	pools := map[string]*Pool{}
	for _, f := range runs {
		counted := map[*Pool]bool{}
		for _, t := range f.Trials {
			if t.Void != "" || t.LockGapSeconds == nil {
				continue
			}
			key := f.pooled(t)
			p := pools[key]
			if p == nil {
				p = &Pool{Mode: t.Mode, Class: t.Class, Timing: f.Timing.String(), header: f.Header}
				pools[key] = p
			}
			p.trials = append(p.trials, t)
			if !counted[p] {
				counted[p] = true
				p.Runs++
			}
		}
	}
	out := []Pool{}
	for _, p := range pools {
		p.sum()
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Pool) int {
		return cmp.Or(b.N-a.N, cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Class, b.Class), cmp.Compare(a.header.key(), b.header.key()))
	})
	return out
}

func (f Failover) pooled(t timeline.Trial) string {
	return fmt.Sprintf("%s %s %s", f.key(), t.Mode, t.Class)
}

// key tells settings apart under which gaps are not to be put together.
func (h Header) key() string {
	settings, _ := json.Marshal([]any{h.Timing.String(), h.Identity, h.ReleaseOnCancel, h.Foreign, h.PodStartLatencySeconds, h.Election}) // words and numbers
	return string(settings)
}

// sum fills in the figures.
func (p *Pool) sum() {
	gaps := collect(p.trials, lockGap)
	p.N = len(gaps)
	p.MinSeconds, p.MedianSeconds, p.MaxSeconds = gaps[0], (gaps[(p.N-1)/2]+gaps[p.N/2])/2, gaps[p.N-1]
	for i, t := range p.trials {
		band := gap.Range(p.header.Input(fault.Mode(t.Mode), t.Standbys), p.Class)
		if i == 0 {
			p.PredictedMinSeconds = band.MinSeconds
		}
		p.PredictedMinSeconds, p.PredictedMaxSeconds = min(p.PredictedMinSeconds, band.MinSeconds), max(p.PredictedMaxSeconds, band.MaxSeconds)
	}
	p.Checks = slices.DeleteFunc(NewFailover(p.header, p.trials, "").Checks, func(c check.Check) bool { return c.Name != check.GapInBand && c.Name != check.Distribution })
}

// PoolsText writes a line for each pool, and what its checks say.
func PoolsText(out io.Writer, pools []Pool) error {
	if len(pools) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  WHAT WAS DONE\tCLASS\tDURATIONS\tRUNS\tGAPS\tPREDICTED\tMIN\tMEDIAN\tMAX\tVERDICT")
	for _, p := range pools {
		fmt.Fprintf(table, "  %s\t%s\t%s\t%d\t%d\t%.1f–%.1f s\t%.2f s\t%.2f s\t%.2f s\t%s\n", title(timeline.Visible(p.Mode)), p.Class, p.Timing, p.Runs, p.N,
			p.PredictedMinSeconds, p.PredictedMaxSeconds, p.MinSeconds, p.MedianSeconds, p.MaxSeconds, check.Overall(p.Checks))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range pools {
		for _, c := range p.Checks {
			if c.Name == check.Distribution || c.Verdict != check.Pass {
				fmt.Fprintf(out, "  %s, %s: %s\n", title(timeline.Visible(p.Mode)), c.Name, timeline.Visible(c.Reason))
			}
		}
	}
	return nil
}

// ClassPage is what ClassHTML shows. Texts must be visible; they are escaped.
type ClassPage struct {
	Class    string // its name; may be empty
	Head     []string
	Rows     []ClassRow
	Findings []string
	Pools    []Pool
}

// ClassRow is a student's row, and ClassCell a cell of it; one with a verdict is drawn as that.
type ClassRow struct{ Cells []ClassCell }

// ClassCell is a cell's text.
type ClassCell struct {
	Text    string
	Verdict check.Verdict
}

// ClassHTML writes a class's summary as one page, with the distribution of each pool of gaps over the model's.
func ClassHTML(out io.Writer, p ClassPage) error {
	parsed, err := template.New("page").Parse(htmlPage)
	if err == nil {
		parsed, err = parsed.New("class").Parse(classPage)
	}
	if err != nil {
		return err
	}
	filled := struct {
		ClassPage
		Style   template.CSS
		Spreads []*figure
		Lines   []string
	}{ClassPage: p, Style: template.CSS(htmlStyle), Spreads: classSpreads(p.Pools)} // the style is this package's own
	for _, pool := range p.Pools {
		for _, c := range pool.Checks {
			filled.Lines = append(filled.Lines, fmt.Sprintf("%s, class %s, %s: %s: %s", title(timeline.Visible(pool.Mode)), pool.Class, pool.Timing, c.Verdict, timeline.Visible(c.Reason)))
		}
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, filled); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// classSpreads draws each pool that has enough gaps.
func classSpreads(pools []Pool) (out []*figure) {
	for i, p := range pools {
		if len(p.trials) < enoughToSpread {
			continue
		}
		s := Spread{timeline.Visible(p.Mode), p.Class, group{timeline.Visible(p.Mode), p.trials}}
		if fig := spread(fmt.Sprintf("class-%d", i+1), s, p.header, Simulated{}); fig != nil {
			fig.Title += fmt.Sprintf(", %s, %d runs", p.Timing, p.Runs)
			out = append(out, fig)
		}
	}
	return out
}
