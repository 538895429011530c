package check

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestConfigured_NamesTheWrongDuration(t *testing.T) {
	for name, c := range map[string]struct {
		lease int
		every *float64
		want  Verdict
		says  string
	}{
		"as configured":    {15, ptr(2.01), Pass, ""},
		"slow requests":    {15, ptr(2.25), Pass, ""},
		"slow answers":     {15, ptr(2.55), Unknown, "the answers were slow"},
		"too few renewals": {15, nil, Pass, ""},
		"another RP":       {15, ptr(3.02), Fail, "RetryPeriod is not 2 s"},
		"a shorter RP":     {15, ptr(1.01), Fail, "RetryPeriod is not 2 s"},
		"another LD":       {30, ptr(2.01), Fail, "LeaseDuration is not 15 s"},
		"an old recording": {0, nil, Pass, ""},
	} {
		got, reason := configured(Case{Trial: timeline.Trial{LeaseDurationSeconds: c.lease, RenewEverySeconds: c.every}, Input: gap.Input{Timing: api.Default()}})
		if got != c.want || !strings.Contains(reason, c.says) {
			t.Errorf("%s: got %s, %q; want %s with %q", name, got, reason, c.want, c.says)
		}
	}
}
