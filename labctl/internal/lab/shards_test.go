package lab

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/pairs"
)

func TestShards_EachPairIsToldOnce(t *testing.T) {
	read := func(text string) []pairs.Trial {
		trials, err := readTrials(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return trials
	}
	second, first := read(`{"pair":3,"gapSeconds":17.5}`+"\n"), read(`{"pair":1,"failed":"no"}`+"\n"+`{"pair":2,"gapSeconds":16}`+"\n")
	all, err := complete(append(second, first...), 3)
	if err != nil || all[0].Failed != "no" || all[1].GapSeconds != 16 || all[2].GapSeconds != 17.5 {
		t.Errorf("got %+v, %v", all, err)
	}
	for name, c := range map[string]struct {
		trials []pairs.Trial
		want   string
	}{
		"one missing at the end": {first, "tell of 2 pairs, not 3"},
		"one missing":            {append(read(`{"pair":1}`), second...), "pair 3 comes where 2 should"},
		"one twice":              {append(read(`{"pair":1}`), first...), "pair 1 comes where 2 should"},
	} {
		if _, err := complete(c.trials, 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := readTrials(strings.NewReader("error: argument is not understood\n")); err == nil {
		t.Error("a line that is no trial is read")
	}
}

func TestShards_ArgumentsSayWhatIsMeasured(t *testing.T) {
	got := strings.Join(shardArgs(PairOptions{Pairs: 9, Shards: 3, Mode: fault.Graceful, Timing: api.Fast(), Seed: 7}), " ")
	if want := "measure-pairs --pairs=9 --shards=3 --release=true --seed=7 --leader-elect-lease-duration=5s --leader-elect-renew-deadline=3s --leader-elect-retry-period=1s"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestShards_APodThatFailedSaysWhy(t *testing.T) {
	for log, want := range map[string]string{"": "", "panic: no\n": "panic: no", "error: 2 pairs\nhint: --help\n": "2 pairs"} {
		if got := complaint(log); got != want {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}
