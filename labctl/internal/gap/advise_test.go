package gap

import (
	"testing"
	"time"

	"academy.example/lab/operator/api"
)

// Every choice keeps what was asked for, is valid, and leaves a renewal the time that it takes.
func TestAdvise_KeepsItsWord(t *testing.T) {
	for _, worst := range []time.Duration{10 * time.Second, 30 * time.Second, 5 * time.Minute} {
		for _, renew := range []time.Duration{50 * time.Millisecond, 800 * time.Millisecond, 3 * time.Second} {
			settings := Advise(worst, renew)
			for _, s := range settings {
				if s.WorstSeconds > worst.Seconds()+1e-9 || s.MarginSeconds < renew.Seconds()+1 || s.Timing.Validate() != nil || s.OutageSeconds < leastTries*s.Timing.RetryPeriod.Seconds() {
					t.Errorf("worst gap %s, renewals of %s: %+v", worst, renew, s)
				}
			}
			if len(settings) == 0 && worst > time.Minute {
				t.Errorf("worst gap %s, renewals of %s: nothing is advised", worst, renew)
			}
		}
	}
}

func TestAdvise_NothingIfTheGapIsTooShort(t *testing.T) {
	if got := Advise(5*time.Second, 800*time.Millisecond); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// What OpenShift's 137/107/26 gives: a worst gap of 251 s and a mean of 168 s for a leader that is killed.
func TestJudge_KnownFigures(t *testing.T) {
	s := Judge(api.Timing{LeaseDuration: 137 * time.Second, RenewDeadline: 107 * time.Second, RetryPeriod: 26 * time.Second}, 0)
	if s.WorstSeconds < 251 || s.WorstSeconds > 252 || s.MeanSeconds < 167 || s.MeanSeconds > 169 || s.ReleasedSeconds < 57 || s.ReleasedSeconds > 58 || s.MarginSeconds != 4 {
		t.Errorf("got %+v", s)
	}
}
