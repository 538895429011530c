package check

import (
	"fmt"
	"math"
)

// renewSlack is how much longer a pause between renewals may be than RetryPeriod, as a share of it, beside one request: the
// next renewal is due RetryPeriod after the answer to the last one.
const renewSlack, renewRequest = 0.1, 0.1

// slowRenewal is how much later than RetryPeriod renewals may come of slow answers alone. Durations are whole seconds, so another
// RetryPeriod is a second longer.
const slowRenewal = 0.7

// configured compares what the Lease says and how often it is renewed with the durations that the run was told: the wrong one
// is named.
func configured(c Case) (Verdict, string) {
	lease, retry := c.Input.Timing.LeaseDuration.Seconds(), c.Input.Timing.RetryPeriod.Seconds()
	if got := c.Trial.LeaseDurationSeconds; got != 0 && float64(got) != math.Floor(lease) {
		return Fail, fmt.Sprintf("the Lease says leaseDurationSeconds %d, so LeaseDuration is not %g s", got, lease)
	}
	every := c.Trial.RenewEverySeconds
	if every == nil {
		return Pass, "" // too few renewals to tell; what was seen agrees
	}
	late := *every > retry*(1+renewSlack)+renewRequest
	if late && *every < retry+slowRenewal {
		return Unknown, fmt.Sprintf("the holder renewed every %.2f s: RetryPeriod is %g s, and the answers were slow", *every, retry)
	}
	if late || *every < retry*(1-renewSlack) {
		return Fail, fmt.Sprintf("the holder renewed every %.2f s, so RetryPeriod is not %g s", *every, retry)
	}
	return Pass, ""
}
