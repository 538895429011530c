package timeline

import (
	"math"
	"testing"
)

// A leader that is stopped while another begins has worked beside it only since it goes on.
func TestActing_CountsWorkAndNoPause(t *testing.T) {
	ticks := func(from, to float64) (out []float64) {
		for at := from; at < to; at += 0.1 {
			out = append(out, at)
		}
		return out
	}
	for name, c := range map[string]struct {
		instants []float64
		want     float64
	}{
		"none":                         {nil, 0},
		"only before":                  {ticks(-3, -0.05), 0},
		"across the other's beginning": {ticks(-1, 2.01), 2},
		"stopped meanwhile":            {append(ticks(-15, -13), ticks(11, 21.01)...), 10},
		"twice":                        {append(ticks(1, 2.01), ticks(5, 6.01)...), 2},
		"seen once":                    {[]float64{-4, 3}, 0.1},
	} {
		if got := acting(c.instants); math.Abs(got-c.want) > 0.011 {
			t.Errorf("%s: got %.3f s, want %.3f", name, got, c.want)
		}
	}
}
