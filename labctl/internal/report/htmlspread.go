package report

import (
	"fmt"
	"sort"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// enoughToSpread is the least number of gaps of one mode and class whose spread is drawn.
const enoughToSpread = 5

// spreads draw, for each mode and class with enough trials, how the measured lock gaps are spread, over what the model says.
func spreads(f Failover) []*figure {
	var out []*figure
	for _, g := range byMode(f.Trials) {
		for _, class := range []timeline.Class{timeline.Released, timeline.Expired, timeline.SameIdentity, timeline.Stolen, timeline.Deleted} {
			var own []timeline.Trial
			for _, t := range g.trials {
				if t.Void == "" && t.Class == class && t.LockGapSeconds != nil {
					own = append(own, t)
				}
			}
			if len(own) < enoughToSpread {
				continue
			}
			if fig := spread(fmt.Sprintf("spread-%d", len(out)+1), class, group{g.mode, own}, f.Header); fig != nil {
				out = append(out, fig)
			}
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
		in := h.Input(fault.Mode(t.Mode), t.Standbys)
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

func spread(id string, class timeline.Class, g group, h Header) *figure {
	gaps := collect(g.trials, lockGap)
	model, modelled := expect(g, class, h)
	from, to := gaps[0], gaps[len(gaps)-1]
	if modelled {
		from, to = min(from, model.min), max(to, model.max)
	}
	x, ok := newAxis(from, to, 12, 97)
	if !ok {
		return nil
	}
	fig := &figure{ID: id, Height: 244, Title: fmt.Sprintf("%s, class %s: the share of lock gaps up to a length, n = %d", title(g.mode), class, len(gaps))}
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
	fig.curve("measured", x, top, height, stairs(gaps, x))
	fig.Keys = append([]key{{"measured", fmt.Sprintf("measured, n = %d", len(gaps))}}, fig.Keys...)
	quantiles(fig, gaps, model, modelled)
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

// quantiles fills the table: each gap, the share of the measured up to it, and the share that the model expects.
func quantiles(fig *figure, gaps []float64, model mixture, modelled bool) {
	fig.Table = table{Head: []string{"lock gap", "measured up to it", "predicted up to it"}}
	every := (len(gaps) + mostRows - 1) / mostRows
	if every > 1 {
		fig.Note = fmt.Sprintf("The table has one in %d of the %d gaps, and the longest.", every, len(gaps))
	}
	row := func(v float64) []string {
		expected := "no prediction"
		if modelled {
			expected = fmt.Sprintf("%.0f %%", 100*model.cdf(v))
		}
		upTo := sort.Search(len(gaps), func(i int) bool { return gaps[i] > v })
		return []string{two(v), fmt.Sprintf("%.0f %%", 100*float64(upTo)/float64(len(gaps))), expected}
	}
	for i := every - 1; i < len(gaps); i += every {
		fig.Table.add(row(gaps[i])...)
	}
	if len(gaps)%every != 0 {
		fig.Table.add(row(gaps[len(gaps)-1])...)
	}
	tells := table{Head: []string{"", "measured up to it", "predicted up to it"}}
	for _, q := range []float64{0, 0.25, 0.5, 0.75, 1} {
		tells.add(row(gaps[int(q*float64(len(gaps)-1))])...)
	}
	fig.Desc = tells.words()
}
