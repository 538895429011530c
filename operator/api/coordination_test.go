package api

import (
	"strings"
	"testing"
)

func TestCoordination_Validate(t *testing.T) {
	for _, c := range []struct {
		strategy, binary, emulation string
		want                        string // of the problems, separated by " and "
	}{
		{StrategyOldest, "1.37.0", "1.37.0", ""},
		{StrategyOldest, "1.37.2", "1.36.0", ""},
		{StrategyOldest, "1.9.0", "1.10.0", "--emulation-version=1.10.0 is newer"}, // by number, not by letter
		{"Youngest", "1.37.0", "1.37.0", "--coordination-strategy=Youngest is unknown"},
		{StrategyOldest, "v1.37.0", "1.37.0", "--binary-version=v1.37.0 is no version"},
		{StrategyOldest, "1.37", "", "--binary-version=1.37 is no version and --emulation-version= is no version"},
		{StrategyOldest, "1.037.0", "1.36.0", "--binary-version=1.037.0 is no version"},
		{StrategyOldest, "0.0.0", "0.0.0", "--binary-version=0.0.0 is no version and --emulation-version=0.0.0 is no version"},
	} {
		problems := Problems(Coordination{c.strategy, c.binary, c.emulation}.Validate())
		var wants []string
		if c.want != "" {
			wants = strings.Split(c.want, " and ")
		}
		if len(problems) != len(wants) {
			t.Errorf("%v: got %v, want %q", c, problems, c.want)
			continue
		}
		for i, p := range problems {
			if !strings.HasPrefix(p.What, wants[i]) || !strings.HasPrefix(p.Hint, "--") {
				t.Errorf("%v: got %q with hint %q, want %q", c, p.What, p.Hint, wants[i])
			}
		}
	}
}

func TestNextVersion(t *testing.T) {
	for v, want := range map[string]string{"1.0.0": "1.1.0", "1.37.2": "1.38.0", "1.9.9": "1.10.0"} {
		if got := NextVersion(v); got != want || CompareVersions(got, v) <= 0 || CheckVersion("", got) != nil {
			t.Errorf("after %s: got %s, want %s", v, got, want)
		}
	}
}
