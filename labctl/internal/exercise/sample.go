package exercise

import (
	"fmt"
	"math"
	"strings"

	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/gap"
)

// Figures of all the trials of a run together: of their lock gaps.
const (
	FigureMean   = "mean"
	FigureMargin = "margin" // half the width of the mean's 95 % confidence interval
	FigureNeeded = "needed" // how many trials a mean to within Question.Within needs, those there are included
)

// sampled reports whether a figure is one of the trials' sample.
func sampled(figure string) bool {
	return figure == FigureMean || figure == FigureMargin || figure == FigureNeeded
}

// ofAll reports whether a figure is one of several trials and not of each.
func ofAll(figure string) bool { return figure == FigureReplacement || sampled(figure) }

// sampleFigure sums the lock gaps of each run up, as its report does. One gap has no margin, so a run with fewer than two is
// left out.
func sampleFigure(q Question, trials []recorded.Trial) (values []float64, cite string) {
	gaps := map[string][]float64{}
	var order, cites []string
	for _, t := range trials {
		if t.LockGapSeconds == nil {
			continue
		}
		if gaps[t.Run.Name] == nil {
			order = append(order, t.Run.Name)
		}
		gaps[t.Run.Name] = append(gaps[t.Run.Name], *t.LockGapSeconds)
	}
	for _, run := range order {
		s := gap.Sum(gaps[run])
		if s.MeanMarginSeconds == nil {
			continue
		}
		cites = append(cites, fmt.Sprintf("run %s: %d gaps, %.2f ± %.2f s", run, s.N, s.MeanSeconds, *s.MeanMarginSeconds))
		switch q.Figure {
		case FigureMean:
			values = append(values, s.MeanSeconds)
		case FigureMargin:
			values = append(values, *s.MeanMarginSeconds)
		default:
			values = append(values, float64(s.N+s.More(q.Within)))
		}
	}
	return values, strings.Join(cites, "; ")
}

// near reports whether a number of trials was computed from figures rounded to two decimals: to one trial, or a twentieth.
func near(said, is float64) bool { return math.Abs(said-is) <= max(1, is/20) }
