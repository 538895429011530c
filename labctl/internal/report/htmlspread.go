package report

import (
	"fmt"
	"slices"
	"sort"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// enoughToSpread is the least number of gaps of one mode and class whose spread is drawn.
const enoughToSpread = 5

// Simulated are the lock gaps that the real election gave in virtual time, for one mode and class of a run.
type Simulated struct {
	Mode  string
	Class timeline.Class
	Gaps  []float64 // in seconds, sorted
	// With says what they were played with, such as the seed.
	With string
}

// Spread is a distribution that a page draws: the measured lock gaps of one mode and class.
type Spread struct {
	Mode  string
	Class timeline.Class
	group
}

// Standbys counts the trials with each number of standbys.
func (s Spread) Standbys() map[int]int {
	counts := map[int]int{}
	for _, t := range s.trials {
		counts[t.Standbys]++
	}
	return counts
}

// Spreads are the modes and classes of a run with enough trials for their distribution.
func Spreads(f Failover) (out []Spread) {
	for _, g := range byMode(f.Trials) {
		for _, class := range []timeline.Class{timeline.Released, timeline.Expired, timeline.SameIdentity, timeline.Stolen, timeline.Deleted} {
			var own []timeline.Trial
			for _, t := range g.trials {
				if t.Void == "" && t.Class == class && t.LockGapSeconds != nil {
					own = append(own, t)
				}
			}
			if len(own) >= enoughToSpread {
				out = append(out, Spread{g.mode, class, group{g.mode, own}})
			}
		}
	}
	return out
}

// spreads draw how the measured lock gaps are spread, over what the model says and over virtual time.
func spreads(f Failover, simulated []Simulated) []*figure {
	var out []*figure
	for _, s := range Spreads(f) {
		i := slices.IndexFunc(simulated, func(v Simulated) bool { return v.Mode == s.Mode && v.Class == s.Class && len(v.Gaps) > 0 })
		var virtual Simulated
		if i >= 0 {
			virtual = simulated[i]
		}
		if fig := spread(fmt.Sprintf("spread-%d", len(out)+1), s, f.Header, virtual); fig != nil {
			out = append(out, fig)
		}
	}
	return out
}

// mixture is the model's distribution of trials whose inputs may differ.
type mixture struct {
	of       []*gap.Distribution
	min, max float64
}

// cdf is the share of the gaps up to x that the model expects.
func (m mixture) cdf(x float64) float64 {
	sum := 0.0
	for _, d := range m.of {
		sum += d.CDF(x)
	}
	return sum / float64(len(m.of))
}

// expect is the model of a group's trials; not ok where there is none.
func expect(g group, class timeline.Class, h Header) (m mixture, ok bool) {
	if !h.Modelled() {
		return m, false
	}
	for i, t := range g.trials {
		in := h.Of(t)
		if in.Standbys < 1 && in.ReplacementStart <= 0 {
			return m, false
		}
		d := gap.Distribute(in, class, -1)
		if d == nil {
			return m, false
		}
		p := gap.Range(in, class)
		if i == 0 {
			m.min, m.max = p.MinSeconds, p.MaxSeconds
		}
		m.of, m.min, m.max = append(m.of, d), min(m.min, p.MinSeconds), max(m.max, p.MaxSeconds)
	}
	return m, true
}

func spread(id string, s Spread, h Header, virtual Simulated) *figure {
	gaps := collect(s.trials, lockGap)
	model, modelled := expect(s.group, s.Class, h)
	from, to := gaps[0], gaps[len(gaps)-1]
	if n := len(virtual.Gaps); n > 0 {
		from, to = min(from, virtual.Gaps[0]), max(to, virtual.Gaps[n-1])
	}
	if modelled {
		from, to = min(from, model.min), max(to, model.max)
	}
	x, ok := newAxis(from, to, 12, 97)
	if !ok {
		return nil
	}
	fig := &figure{ID: id, Height: 244, Title: fmt.Sprintf("%s, class %s: the share of lock gaps up to a length, n = %d", title(s.Mode), s.Class, len(gaps))}
	const top, height = 12, 208
	if modelled {
		fig.rect("band", x, model.min, model.max, top, height)
	}
	for _, share := range []int{0, 25, 50, 75, 100} {
		y := top + height - share*height/100
		fig.add(shape{Kind: "line", X: percent(x.left), X2: percent(x.right), Y: fmt.Sprint(y), Y2: fmt.Sprint(y), Class: "grid"})
		fig.text("tick", x.left-1, "end", y+4, fmt.Sprintf("%d %%", share))
	}
	fig.axis(x, top, top+height)
	if len(virtual.Gaps) > 0 {
		fig.curve("virtual", x, top, height, stairs(virtual.Gaps, x)) // below the others: they agree for most of their way
	}
	if modelled {
		const points = 240
		var expected [][2]float64
		for i := range points + 1 {
			share := float64(i) / points
			expected = append(expected, [2]float64{share, model.cdf(x.from + share*(x.to-x.from))})
		}
		fig.curve("expected", x, top, height, expected)
		fig.Keys = append(fig.Keys, key{"expected", "predicted distribution"}, key{"band", fmt.Sprintf("predicted range, %.1f–%.1f s", model.min, model.max)})
	}
	if n := len(virtual.Gaps); n > 0 {
		fig.Keys = append(fig.Keys, key{"virtual", fmt.Sprintf("the real election in virtual time, n = %d (%s)", n, virtual.With)})
	}
	fig.curve("measured", x, top, height, stairs(gaps, x))
	fig.Keys = append([]key{{"measured", fmt.Sprintf("measured, n = %d", len(gaps))}}, fig.Keys...)
	quantiles(fig, gaps, model, modelled, virtual)
	return fig
}

// stairs is the share of the sorted values up to each point of an axis.
func stairs(sorted []float64, x axis) [][2]float64 {
	points := [][2]float64{{0, 0}}
	for i, v := range sorted {
		at := (x.at(v) - x.left) / (x.right - x.left)
		points = append(points, [2]float64{at, float64(i) / float64(len(sorted))}, [2]float64{at, float64(i+1) / float64(len(sorted))})
	}
	return append(points, [2]float64{1, 1})
}

// mostRows bounds the table of a spread: of more gaps, every second, third … is in it.
const mostRows = 50

// upTo is the share of the sorted values up to v, in words.
func upTo(sorted []float64, v float64) string {
	n := sort.Search(len(sorted), func(i int) bool { return sorted[i] > v })
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(len(sorted)))
}

// quantiles fills the table: each gap, the share of the measured up to it, the share that the model expects, and that of
// virtual time.
func quantiles(fig *figure, gaps []float64, model mixture, modelled bool, virtual Simulated) {
	heads := []string{"measured up to it", "predicted up to it", "virtual time up to it"}
	fig.Table = table{Head: append([]string{"lock gap"}, heads...)}
	every := (len(gaps) + mostRows - 1) / mostRows
	if every > 1 {
		fig.Note = fmt.Sprintf("The table has one in %d of the %d gaps, and the longest.", every, len(gaps))
	}
	row := func(v float64) []string {
		expected := "no prediction"
		if modelled {
			expected = fmt.Sprintf("%.0f %%", 100*model.cdf(v))
		}
		played := "not simulated"
		if len(virtual.Gaps) > 0 {
			played = upTo(virtual.Gaps, v)
		}
		return []string{two(v), upTo(gaps, v), expected, played}
	}
	for i := every - 1; i < len(gaps); i += every {
		fig.Table.add(row(gaps[i])...)
	}
	if len(gaps)%every != 0 {
		fig.Table.add(row(gaps[len(gaps)-1])...)
	}
	tells := table{Head: append([]string{""}, heads...)}
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
		tells.add(row(gaps[int(q*float64(len(gaps)-1))])...)
	}
	fig.Desc = tells.words()
}
