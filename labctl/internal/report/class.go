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
	"strconv"
	"strings"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

//go:embed class.tmpl
var classPage string

//go:embed class.css
var classStyle string

// Pool is the lock gaps of one mode and class over several runs that were made with the same settings.
type Pool struct {
	Mode   string         `json:"mode"`
	Class  timeline.Class `json:"class"`
	Timing string         `json:"timing"` // the three durations in seconds, 15/10/2
	// Election is the operator's. Settings has in words what else is not as `labctl up` makes it; empty if nothing is.
	Election Setting `json:"election"`
	Settings string  `json:"settings"`
	Runs     int     `json:"runs"`
	N        int     `json:"n"` // gaps; void trials have none
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
				p = &Pool{Mode: t.Mode, Class: t.Class, Timing: f.Timing.String(), Election: f.Election, Settings: f.otherwise(), header: f.Header}
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

// usualStart is the pod start latency of the embedded cluster, in seconds.
const usualStart = 1.2

// otherwise says which settings, beside the durations and the election, are not the lab's own.
func (h Header) otherwise() string {
	if h.Foreign {
		return "another operator"
	}
	var words []string
	if h.Identity != "" && h.Identity != api.IdentityPod {
		words = append(words, "identity "+timeline.Visible(string(h.Identity)))
	}
	if h.ReleaseOnCancel != nil && !*h.ReleaseOnCancel {
		words = append(words, "no release")
	}
	switch start := h.PodStartLatencySeconds; start {
	case usualStart:
	case 0:
		words = append(words, "no pod start latency")
	default:
		words = append(words, fmt.Sprintf("pod start latency %g s", start))
	}
	return strings.Join(words, ", ")
}

// elected is a pool's election, and what else is not the lab's own.
func (p Pool) elected() string {
	text := known(timeline.Visible(string(p.Election)))
	if p.Settings != "" {
		text += ", " + p.Settings
	}
	return text
}

// Count is a number of things: 1 run, 2 runs, 2 copies.
func Count(n int, thing string) string {
	switch stem, y := strings.CutSuffix(thing, "y"); {
	case n == 1:
	case y:
		thing = stem + "ies"
	default:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Open is the mark of what was begun, is not done yet, and has nothing wrong in it.
const Open check.Verdict = "open"

// Mark is a verdict in one letter; - is none.
func Mark(v check.Verdict) string {
	switch v {
	case Open:
		return "o"
	case check.Pass:
		return "P"
	case check.Fail:
		return "F"
	case check.Unknown:
		return "?"
	default:
		return "-"
	}
}

// sum fills in the figures.
func (p *Pool) sum() {
	gaps := collect(p.trials, lockGap)
	p.N = len(gaps)
	p.MinSeconds, p.MedianSeconds, p.MaxSeconds = gaps[0], (gaps[(p.N-1)/2]+gaps[p.N/2])/2, gaps[p.N-1]
	for i, t := range p.trials {
		band := gap.Range(p.header.Of(t), p.Class)
		if i == 0 {
			p.PredictedMinSeconds = band.MinSeconds
		}
		p.PredictedMinSeconds, p.PredictedMaxSeconds = min(p.PredictedMinSeconds, band.MinSeconds), max(p.PredictedMaxSeconds, band.MaxSeconds)
	}
	p.Checks = slices.DeleteFunc(NewFailover(p.header, p.trials, "").Checks, func(c check.Check) bool { return c.Name != check.GapInBand && c.Name != check.Distribution })
}

var poolHead = []string{"what was done", "class", "durations", "election", "runs", "gaps", "predicted", "min", "median", "max", "verdict"}

// cells are a pool's row of a table below poolHead.
func (p Pool) cells() []string {
	return []string{title(timeline.Visible(p.Mode)), string(p.Class), p.Timing, p.elected(), strconv.Itoa(p.Runs), strconv.Itoa(p.N),
		fmt.Sprintf("%.1f–%.1f s", p.PredictedMinSeconds, p.PredictedMaxSeconds), two(p.MinSeconds), two(p.MedianSeconds), two(p.MaxSeconds), string(check.Overall(p.Checks))}
}

// PoolsText writes a line for each pool, and what its checks say.
func PoolsText(out io.Writer, pools []Pool) error {
	if len(pools) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  "+strings.ToUpper(strings.Join(poolHead, "\t")))
	for _, p := range pools {
		fmt.Fprintln(table, "  "+strings.Join(p.cells(), "\t"))
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
	Columns  []ClassColumn
	Rows     []ClassRow
	Findings []ClassFinding
	Counted  string // which runs the pools are of
	Pools    []Pool
}

// ClassColumn is an exercise or a checklist.
type ClassColumn struct{ Short, Name string }

// ClassRow is an archive: whose it is, its verdict and what that means, and a mark for each column.
type ClassRow struct {
	Student, Archive string
	Verdict          check.Verdict
	Marks            []check.Verdict
	Trials, Void     int
}

// ClassFinding is what is wrong with an archive: in a word, and in a sentence.
type ClassFinding struct {
	Student    string
	Verdict    check.Verdict
	What, Text string
}

// ClassHTML writes a class's summary as one page: a row for each archive and for each pool of gaps, and the distribution of each
// pool with enough gaps over the model's.
func ClassHTML(out io.Writer, p ClassPage) error {
	parsed, err := template.New("page").Funcs(template.FuncMap{"count": Count, "mark": Mark}).Parse(htmlPage)
	if err == nil {
		parsed, err = parsed.New("class").Parse(classPage)
	}
	if err != nil {
		return err
	}
	filled := struct {
		ClassPage
		Style    template.CSS
		PoolHead []string
		Cells    [][]string
		Spreads  []*figure
		Enough   int
		Lines    []string
	}{ClassPage: p, Style: template.CSS(htmlStyle + classStyle), PoolHead: poolHead, Spreads: classSpreads(p.Pools), Enough: enoughToSpread} // the style is this package's own
	for _, pool := range p.Pools {
		filled.Cells = append(filled.Cells, pool.cells())
		for _, c := range pool.Checks {
			if c.Name == check.Distribution || c.Verdict != check.Pass {
				filled.Lines = append(filled.Lines, fmt.Sprintf("%s, class %s, %s, %s: %s: %s", title(timeline.Visible(pool.Mode)), pool.Class, pool.Timing, pool.elected(), c.Verdict, timeline.Visible(c.Reason)))
			}
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
			fig.Title += fmt.Sprintf(", %s, %s, %s", p.Timing, p.elected(), Count(p.Runs, "run"))
			out = append(out, fig)
		}
	}
	return out
}
