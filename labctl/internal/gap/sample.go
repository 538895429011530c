package gap

import (
	"math"
	"slices"
)

// Sample sums up measured gaps, in seconds. A quantile that so few gaps can't tell is nil.
type Sample struct {
	N           int     `json:"n"`
	MinSeconds  float64 `json:"minSeconds"`
	MeanSeconds float64 `json:"meanSeconds"`
	// MeanMarginSeconds is half the width of the mean's 95 % confidence interval; nil below two gaps.
	MeanMarginSeconds *float64 `json:"meanMarginSeconds"`
	P50Seconds        float64  `json:"p50Seconds"`
	P95Seconds        *float64 `json:"p95Seconds"` // from 20 gaps on
	P99Seconds        *float64 `json:"p99Seconds"` // from 100 gaps on
	MaxSeconds        float64  `json:"maxSeconds"`

	deviation float64
}

// z95 is how many standard errors a 95 % confidence interval has on either side; for few gaps it is a little too narrow.
const z95 = 1.96

// Sum sums gaps up; the zero Sample if there are none.
func Sum(gaps []float64) Sample {
	if len(gaps) == 0 {
		return Sample{}
	}
	sorted := slices.Sorted(slices.Values(gaps))
	n := float64(len(sorted))
	sum, squares := 0.0, 0.0
	for _, g := range sorted {
		sum += g
	}
	mean := sum / n
	for _, g := range sorted {
		squares += (g - mean) * (g - mean)
	}
	s := Sample{N: len(sorted), MinSeconds: milli(sorted[0]), MeanSeconds: milli(mean), P50Seconds: milli(quantile(sorted, 0.5)), MaxSeconds: milli(sorted[len(sorted)-1])}
	if len(sorted) > 1 {
		s.deviation = math.Sqrt(squares / (n - 1))
		margin := milli(z95 * s.deviation / math.Sqrt(n))
		s.MeanMarginSeconds = &margin
	}
	for _, q := range []struct {
		p    float64
		from int
		to   **float64
	}{{0.95, 20, &s.P95Seconds}, {0.99, 100, &s.P99Seconds}} {
		if len(sorted) >= q.from {
			v := milli(quantile(sorted, q.p))
			*q.to = &v
		}
	}
	return s
}

// quantile is the smallest value that a share p of the sorted ones does not exceed.
func quantile(sorted []float64, p float64) float64 {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(p*float64(len(sorted))))-1))]
}

// More is how many gaps beyond these a mean with the given margin needs, at 95 %; 0 if there are enough, -1 if that can't be
// told yet.
func (s Sample) More(margin float64) int {
	if s.MeanMarginSeconds == nil {
		return -1
	}
	need := z95 * s.deviation / margin
	return max(0, int(math.Ceil(need*need))-s.N)
}

// ShareAtMost is the 95 % upper bound of a share of which seen in n trials were counted: 3/n if none was (Wilson's otherwise).
func ShareAtMost(seen, n int) float64 {
	if n == 0 {
		return 1
	}
	if seen == 0 {
		return 1 - math.Pow(0.05, 1/float64(n))
	}
	const z = 1.645 // one-sided
	p, m := float64(seen)/float64(n), float64(n)
	return min(1, (p+z*z/(2*m)+z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m)))/(1+z*z/m))
}
