package report

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// whyElected tells of a Lease whose holder the API server elects.
func whyElected(t timeline.Trial, timing api.Timing) string {
	var b strings.Builder
	if t.Class == timeline.Released {
		b.WriteString("the Lease was released")
		if t4, ok := t.Instant(timeline.T4); ok {
			fmt.Fprintf(&b, " %.2f s after the command", t4)
		}
	} else {
		fmt.Fprintf(&b, "nobody released: the API server had to see renewTime older than %s (LeaseDuration) by its own clock, which it looks at every 5 s", timing.LeaseDuration)
	}
	if n := t.Elected.NamedGone; n > 0 {
		fmt.Fprintf(&b, "; the API server named the old holder again (%d times), whose LeaseCandidate was less than 5 s old, and waited 5 s for it", n)
	}
	fmt.Fprintf(&b, "; it elected the %s", t.Winner)
	if t.LockGapSeconds != nil {
		fmt.Fprintf(&b, " %.2f s after nobody held the Lease", *t.LockGapSeconds)
	}
	if t.Elected.NoticedSeconds != nil {
		fmt.Fprintf(&b, ", which noticed at its next poll %.2f s later", *t.Elected.NoticedSeconds)
	}
	return b.String() + upgraded(t)
}

// upgraded is a clause about which version led; empty for a trial that was no upgrade.
func upgraded(t timeline.Trial) string {
	u := t.Upgrade
	switch {
	case u == nil:
		return ""
	case u.NewerLedSeconds > 0:
		return fmt.Sprintf("; version %s held the Lease for %.2f s while %s was still there", u.To, u.NewerLedSeconds, u.From)
	default:
		return fmt.Sprintf("; version %s held the Lease only when %s was gone", u.To, u.From)
	}
}
