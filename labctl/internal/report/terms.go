package report

import (
	"fmt"

	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// allowance says what a gap outside of its predicted range is allowed, if there is one; else "".
func allowance(f Failover) string {
	for _, t := range f.Trials {
		p, ok := f.Predicted[t.Mode]
		if g := t.LockGapSeconds; ok && t.Void == "" && g != nil && (*g < p.MinSeconds || *g > p.MaxSeconds) {
			return fmt.Sprintf("predicted: a lock gap %g s below or %g s above passes, since requests and events take time.", gap.EarlySeconds, gap.LateSeconds)
		}
	}
	return ""
}

// Terms says how a lock gap adds up, from the requests on the Lease; "" for a trial without terms.
func Terms(t timeline.Trial) string {
	if t.Terms == nil {
		return ""
	}
	terms := *t.Terms
	sum, text := terms.PollPhaseSeconds, fmt.Sprintf("%.2f poll phase", terms.PollPhaseSeconds)
	if terms.AgeSeconds != nil && terms.ObservationSeconds != nil && terms.LeaseDurationSeconds != nil {
		sum += *terms.ObservationSeconds + *terms.LeaseDurationSeconds - *terms.AgeSeconds
		begin := fmt.Sprintf("− %.2f age of the last renewal", *terms.AgeSeconds)
		if *terms.AgeSeconds < 0 { // the holder renewed once more after the fault, as one that is heard late does
			begin = fmt.Sprintf("%.2f until the next renewal", -*terms.AgeSeconds)
		}
		text = fmt.Sprintf("%s + %.2f observation lag + %g LeaseDuration + %s", begin, *terms.ObservationSeconds, *terms.LeaseDurationSeconds, text)
	}
	text += fmt.Sprintf(" = %.2f s; ", sum)
	if terms.ResidualSeconds < -0.005 {
		return text + fmt.Sprintf("%.2f s less was measured, since the gap's beginning was seen late", -terms.ResidualSeconds)
	}
	return text + fmt.Sprintf("the takeover's requests took the other %.2f s", max(0, terms.ResidualSeconds))
}
