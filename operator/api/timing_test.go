package api

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestTiming_Validate(t *testing.T) {
	for _, c := range []struct {
		timing string
		want   []string // one piece of each problem, in order
		hints  []string
	}{
		{timing: "15/10/2"},
		{timing: "5/3/1"},
		{timing: "3/1.5/1", want: []string{"RenewDeadline 1.5s is not a whole number"}, hints: []string{"--leader-elect-renew-deadline=2s"}},
		{timing: "15.5/10/2", want: []string{"LeaseDuration 15.5s is not a whole number"}, hints: []string{"--leader-elect-lease-duration=16s"}},
		{timing: "12/10/2", want: []string{"LeaseDuration 12s is not above RenewDeadline + RetryPeriod = 12s"}, hints: []string{"--leader-elect-lease-duration=13s"}},
		{timing: "15/2/2", want: []string{"RenewDeadline 2s is not above 1.2 × RetryPeriod = 2.4s"}, hints: []string{"--leader-elect-renew-deadline=3s"}},
		{timing: "15/6/5", want: []string{"RenewDeadline 6s is not above 1.2 × RetryPeriod = 6s"}, hints: []string{"--leader-elect-renew-deadline=7s"}},
		{timing: "3/2/0.4", want: []string{"RetryPeriod 400ms is not a whole number", "RetryPeriod 400ms is below 1s"}, hints: []string{"--leader-elect-retry-period=1s", "--leader-elect-retry-period=2s"}},
		{timing: "1/0.8/0.3", want: []string{"RenewDeadline 800ms is not", "RetryPeriod 300ms is not", "LeaseDuration 1s is below 2s", "RetryPeriod 300ms is below 1s", "LeaseDuration 1s is not above"}},
		{timing: "0/0/0", want: []string{"LeaseDuration 0s is below 2s", "RetryPeriod 0s is below 1s", "LeaseDuration 0s is not above", "RenewDeadline 0s is not above"}},
	} {
		t.Run(c.timing, func(t *testing.T) {
			timing, err := Parse(c.timing)
			if err != nil {
				t.Fatal(err)
			}
			got := Problems(timing.Validate())
			if len(got) != len(c.want) {
				t.Fatalf("got %d problems %q, want %d", len(got), got, len(c.want))
			}
			for i := range got {
				if !strings.Contains(got[i].What, c.want[i]) || !strings.HasPrefix(got[i].Hint, "--leader-elect-") {
					t.Errorf("problem %d: got %q with hint %q, want %q with a flag to type", i, got[i].What, got[i].Hint, c.want[i])
				}
			}
			for i, hint := range c.hints {
				if got[i].Hint != hint {
					t.Errorf("hint %d: got %q, want %q", i, got[i].Hint, hint)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Timing{
		"default": Default(),
		"fast":    Fast(),
		"15/10/2": {15 * time.Second, 10 * time.Second, 2 * time.Second},
		"3/2/0.4": {3 * time.Second, 2 * time.Second, 400 * time.Millisecond},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q): got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "15", "15/10", "15/10/2/1", "a/b/c", "15/-1/2", "quick", "1e9/1/1", "NaN/1/1"} {
		if got, err := Parse(text); err == nil || Problems(err)[0].Hint == "" {
			t.Errorf("Parse(%q): got %v, %v, want an error with a hint", text, got, err)
		}
	}
}

func TestTiming_StringIsWhatParseReads(t *testing.T) {
	for _, text := range []string{"15/10/2", "5/3/1", "3/2/0.4", "137/107/26"} {
		if timing, err := Parse(text); err != nil || timing.String() != text {
			t.Errorf("got %v, %v, want %s", timing, err, text)
		}
	}
}

func TestTiming_JSONNamesTheUnit(t *testing.T) {
	data, err := json.Marshal(Default())
	if want := `{"leaseDurationSeconds":15,"renewDeadlineSeconds":10,"retryPeriodSeconds":2}`; err != nil || string(data) != want {
		t.Fatalf("got %s, %v, want %s", data, err, want)
	}
	var back Timing
	if err := json.Unmarshal(data, &back); err != nil || back != Default() {
		t.Fatalf("got %v, %v, want %v", back, err, Default())
	}
	if err := json.Unmarshal([]byte(`{"leaseDurationSeconds":"15s"}`), &back); err == nil {
		t.Fatal("got no error for a duration that is text")
	}
}

func TestRepaired(t *testing.T) {
	for in, want := range map[string]string{"15/10/2": "15/10/2", "1/2/3": "8/4/3", "15/14/2": "17/14/2", "1.5/1.2/0.4": "4/2/1", "0/0/0": "4/2/1"} {
		timing, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		got := timing.Repaired()
		if got.String() != want || got.Validate() != nil {
			t.Errorf("%s: got %s (%v), want %s", in, got, got.Validate(), want)
		}
	}
}

// The Lease keeps seconds in 32 bits, and a value that is cut off would be a short one.
func TestTiming_ALeaseDurationBeyond32BitsIsRefused(t *testing.T) {
	timing := Default()
	timing.LeaseDuration = (math.MaxInt32 + 1) * time.Second
	if got := Problems(timing.Validate()); len(got) != 1 || got[0].Hint == "" {
		t.Errorf("got %q, want one problem and what to type", got)
	}
	timing.LeaseDuration -= time.Second
	if err := timing.Validate(); err != nil {
		t.Errorf("got %v for the longest there is", err)
	}
}
