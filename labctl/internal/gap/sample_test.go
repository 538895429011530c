package gap

import (
	"math"
	"testing"
)

func TestSum_RefusesWhatFewGapsCannotTell(t *testing.T) {
	var gaps []float64
	for i := range 200 {
		gaps = append(gaps, float64(i%10))
	}
	if s := Sum(gaps[:19]); s.P95Seconds != nil || s.P99Seconds != nil || s.MeanMarginSeconds == nil {
		t.Errorf("19 gaps: %+v", s)
	}
	if s := Sum(gaps[:99]); s.P95Seconds == nil || s.P99Seconds != nil {
		t.Errorf("99 gaps: %+v", s)
	}
	if s := Sum(gaps[:1]); s.MeanMarginSeconds != nil || s.More(0.1) != -1 {
		t.Errorf("one gap: %+v", s)
	}
	s := Sum(gaps)
	// Ten equally frequent values 0 … 9: mean 4.5, standard deviation 2.879 (n − 1), margin 1.96 · 2.879/√200 = 0.399.
	if s.N != 200 || s.MeanSeconds != 4.5 || s.MinSeconds != 0 || s.MaxSeconds != 9 || s.P50Seconds != 4 || *s.P95Seconds != 9 || math.Abs(*s.MeanMarginSeconds-0.399) > 0.001 {
		t.Errorf("200 gaps: %+v", s)
	}
	if more := s.More(0.2); more < 590 || more > 600 { // (1.96 · 2.879/0.2)² = 796
		t.Errorf("for a margin of 0.2 s %d more", more)
	}
	if s.More(0.5) != 0 {
		t.Errorf("for a margin of 0.5 s %d more", s.More(0.5))
	}
	if z := Sum(nil); z.N != 0 {
		t.Errorf("no gaps: %+v", z)
	}
}

// The rule of three, and a bound that covers the truth in 95 of 100 cases.
func TestShareAtMost(t *testing.T) {
	if got := ShareAtMost(0, 50); math.Abs(got-0.0582) > 0.0005 {
		t.Errorf("0 of 50: %.4f, want 0.0582", got)
	}
	if got := ShareAtMost(99, 100); got < 0.99 || got > 1 {
		t.Errorf("99 of 100: %.4f", got)
	}
	if ShareAtMost(0, 0) != 1 {
		t.Error("no trials say something")
	}
}
