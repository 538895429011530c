package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Timing is the three durations of leader election. The zero value is invalid: client-go has no defaults to fall back on.
type Timing struct {
	// LeaseDuration is how long a standby waits, counted from its own last sight of a change, before it may take
	// the lease. The Lease stores whole seconds, so a fraction would be cut off for the standbys only.
	LeaseDuration time.Duration
	// RenewDeadline is how long the leader goes on trying to renew before it gives up. A leader believes until
	// RetryPeriod + RenewDeadline after its last renewal: that sum, not RenewDeadline, must be below LeaseDuration.
	RenewDeadline time.Duration
	// RetryPeriod is the leader's wait between renewals; a standby waits 1 to 2.2 times as long between attempts.
	// Standbys compare timestamps cut to whole seconds, so below one second they overlook renewals.
	RetryPeriod time.Duration
}

// jitterFactor is leaderelection.JitterFactor: client-go demands RenewDeadline > 1.2 · RetryPeriod.
const jitterFactor = 1.2

// WorkTick is the pause between two reconciles of a leader, and so the resolution of everything that is seen by its work.
const WorkTick = 100 * time.Millisecond

// Default returns 15/10/2, what the Kubernetes control plane uses.
func Default() Timing { return seconds(15, 10, 2) }

// Fast returns 5/3/1, the shortest timing whose gaps keep the same shape.
func Fast() Timing { return seconds(5, 3, 1) }

func seconds(lease, renew, retry float64) Timing {
	return Timing{LeaseDuration: duration(lease), RenewDeadline: duration(renew), RetryPeriod: duration(retry)}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// Parse reads "default", "fast" or three numbers of seconds such as "15/10/2". It does not validate the relations.
func Parse(text string) (Timing, error) {
	switch text {
	case "default":
		return Default(), nil
	case "fast":
		return Fast(), nil
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Timing{}, Problem{What: fmt.Sprintf("timing %q is not three numbers of seconds", text), Hint: "type default, fast, or LeaseDuration/RenewDeadline/RetryPeriod such as 15/10/2"}
	}
	var number [3]float64
	for i, part := range parts {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || !(n >= 0 && n <= 1e6) { // NaN is not either
			return Timing{}, Problem{What: fmt.Sprintf("timing %q: %q is not a number of seconds", text, part), Hint: "type for example 15/10/2"}
		}
		number[i] = n
	}
	return seconds(number[0], number[1], number[2]), nil
}

// String returns the three durations in seconds, LeaseDuration/RenewDeadline/RetryPeriod: "15/10/2".
func (t Timing) String() string {
	return number(t.LeaseDuration) + "/" + number(t.RenewDeadline) + "/" + number(t.RetryPeriod)
}

func number(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// timingJSON spells the durations as the rest of the kit's JSON does: numbers with the unit in the name.
type timingJSON struct {
	LeaseDurationSeconds float64  `json:"leaseDurationSeconds"`
	RenewDeadlineSeconds *float64 `json:"renewDeadlineSeconds"` // null if it is not known
	RetryPeriodSeconds   float64  `json:"retryPeriodSeconds"`
}

// MarshalJSON writes {"leaseDurationSeconds":15,"renewDeadlineSeconds":10,"retryPeriodSeconds":2}.
func (t Timing) MarshalJSON() ([]byte, error) {
	out := timingJSON{LeaseDurationSeconds: t.LeaseDuration.Seconds(), RetryPeriodSeconds: t.RetryPeriod.Seconds()}
	if t.RenewDeadline > 0 {
		out.RenewDeadlineSeconds = new(t.RenewDeadline.Seconds())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Timing) UnmarshalJSON(data []byte) error {
	var in timingJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("read timing: %w", err)
	}
	*t = seconds(in.LeaseDurationSeconds, 0, in.RetryPeriodSeconds)
	if in.RenewDeadlineSeconds != nil {
		t.RenewDeadline = duration(*in.RenewDeadlineSeconds)
	}
	return nil
}

// Validate reports every relation that does not hold, each as a Problem, joined; nil if election with t is safe while clocks run alike.
func (t Timing) Validate() error {
	var problems []error
	add := func(hint, format string, args ...any) {
		problems = append(problems, Problem{What: fmt.Sprintf(format, args...), Hint: hint})
	}
	for _, d := range []struct {
		name, flag string
		value      time.Duration
	}{{"LeaseDuration", FlagLeaseDuration, t.LeaseDuration}, {"RenewDeadline", FlagRenewDeadline, t.RenewDeadline}, {"RetryPeriod", FlagRetryPeriod, t.RetryPeriod}} {
		if d.value%time.Second != 0 {
			add(fmt.Sprintf("--%s=%s", d.flag, max(time.Second, d.value.Round(time.Second))),
				"%s %s is not a whole number of seconds: the Lease stores whole seconds, so standbys would count less than the leader", d.name, d.value)
		}
	}
	if t.LeaseDuration > math.MaxInt32*time.Second {
		add("--"+FlagLeaseDuration+"=15s", "LeaseDuration %s does not fit into the Lease, which stores seconds in 32 bits", t.LeaseDuration)
	}
	if t.LeaseDuration < 2*time.Second {
		add("--"+FlagLeaseDuration+"=15s", "LeaseDuration %s is below 2s: a standby overlooks up to 1s of renewals and would take the lease from a healthy leader", t.LeaseDuration)
	}
	if t.RetryPeriod < time.Second {
		add("--"+FlagRetryPeriod+"=2s", "RetryPeriod %s is below 1s: renewals within one second look alike to a standby", t.RetryPeriod)
	}
	if believes := t.RenewDeadline + t.RetryPeriod; t.LeaseDuration <= believes {
		add(fmt.Sprintf("--%s=%s", FlagLeaseDuration, wholeSecondsAbove(believes)),
			"LeaseDuration %s is not above RenewDeadline + RetryPeriod = %s: a cut-off leader would work on after a standby took the lease", t.LeaseDuration, believes)
	}
	if least := time.Duration(jitterFactor * float64(t.RetryPeriod)); t.RenewDeadline <= least {
		add(fmt.Sprintf("--%s=%s", FlagRenewDeadline, wholeSecondsAbove(least)),
			"RenewDeadline %s is not above 1.2 × RetryPeriod = %s: client-go refuses it, there would be no time for a second attempt", t.RenewDeadline, least)
	}
	return errors.Join(problems...)
}

// Repaired returns the nearest timing above t that Validate accepts.
func (t Timing) Repaired() Timing {
	up := func(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
	t.RetryPeriod = max(up(t.RetryPeriod), time.Second)
	t.RenewDeadline = max(up(t.RenewDeadline), wholeSecondsAbove(time.Duration(jitterFactor*float64(t.RetryPeriod))))
	t.LeaseDuration = max(up(t.LeaseDuration), wholeSecondsAbove(t.RenewDeadline+t.RetryPeriod))
	return t
}

// wholeSecondsAbove returns the least whole number of seconds that is greater than d.
func wholeSecondsAbove(d time.Duration) time.Duration { return d.Truncate(time.Second) + time.Second }
