package report

import (
	"fmt"
	"strings"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Why says in one sentence what made the gap as long as it was.
func Why(t timeline.Trial, timing api.Timing) string {
	if t.Elected != nil && (t.Class == timeline.Released || t.Class == timeline.Expired) {
		return whyElected(t, timing)
	}
	switch t.Class {
	case timeline.Released:
		return whyReleased(t) + upgraded(t)
	case timeline.Expired:
		return whyExpired(t, timing)
	case timeline.SameIdentity:
		if d, _ := fault.Describe(fault.Mode(t.Mode)); d.Kind == fault.OfServer {
			return fmt.Sprintf("the API server answered nobody for longer than LeaseDuration: the leader gave up, and when it was back its own pod took the Lease under the same identity; leaseTransitions stayed at %d", t.TransitionsBefore)
		}
		return fmt.Sprintf("the container restarted in its pod under the same identity and took its own Lease back%s; leaseTransitions stayed at %d, so nothing in the Lease tells of the crash",
			after(t, timeline.T5), t.TransitionsBefore)
	case timeline.Stolen, timeline.Deleted:
		return whyRobbed(t, timing)
	default:
		return "not measured: " + t.Void
	}
}

// whyRobbed tells of a holder that lost the Lease while it was well.
func whyRobbed(t timeline.Trial, timing api.Timing) string {
	d, _ := fault.Describe(fault.Mode(t.Mode))
	s := ""
	switch {
	case t.Class == timeline.Deleted && t.Winner == timeline.Same:
		s = fmt.Sprintf("the Lease object was deleted; the holder's own pod made it again%s", after(t, timeline.T5))
	case t.Class == timeline.Deleted:
		s = fmt.Sprintf("the Lease object was deleted; the %s made it again at its next poll%s", t.Winner, after(t, timeline.T5))
	case d.Kind == fault.OfRecord:
		s = fmt.Sprintf("%s was written into the Lease and never renewed: the %s had to see that record unchanged for %s (LeaseDuration)", fault.Thief, t.Winner, timing.LeaseDuration)
	default:
		s = "the holder changed while the record was still valid and nobody had released it: somebody wrote the Lease"
	}
	if t.Class == timeline.Deleted && t.TransitionsAfter != nil && *t.TransitionsAfter == 0 {
		s += ", and leaseTransitions starts at 0"
	}
	if t.WorkedOnSeconds != nil {
		s += fmt.Sprintf("; the old leader worked on for %.2f s", *t.WorkedOnSeconds)
	}
	if t.Class == timeline.Deleted && t.GapSeconds == nil {
		s += "; the fence refused the new leader's writes until the stamps of the old count were removed"
	}
	return s
}

func whyReleased(t timeline.Trial) string {
	var b strings.Builder
	if d, ok := fault.Describe(fault.Mode(t.Mode)); ok && d.Mode == fault.ForceDelete {
		b.WriteString("forced or not, the process got SIGTERM: ")
	}
	b.WriteString("the Lease was released")
	if t4, ok := t.Instant(timeline.T4); ok {
		fmt.Fprintf(&b, " %.2f s after the command", t4)
	}
	fmt.Fprintf(&b, "; the %s polled next and took it", t.Winner)
	if t.LockGapSeconds != nil {
		fmt.Fprintf(&b, " %.2f s later", *t.LockGapSeconds)
	}
	return b.String()
}

func whyExpired(t timeline.Trial, timing api.Timing) string {
	if d, _ := fault.Describe(fault.Mode(t.Mode)); d.Kind == fault.OfServer {
		return "the API server answered nobody for longer than LeaseDuration: every leader gave up, and whoever polled first when it was back took the Lease"
	}
	who := "the " + string(t.Winner)
	if t.Winner == timeline.Same {
		who = "the same pod's new process"
	}
	s := fmt.Sprintf("nobody released: %s had to see the record unchanged for %s (LeaseDuration) on its own clock, and then to poll", who, timing.LeaseDuration)
	if d, ok := fault.Describe(fault.Mode(t.Mode)); ok && d.Releases && len(t.Errors) > 0 {
		s += "; what went wrong: " + t.Errors[0]
	}
	if stopped := (gap.Input{Mode: fault.Mode(t.Mode), StopSeconds: t.StopSeconds()}).Stopped(t.Class); stopped > 0 {
		s += fmt.Sprintf("; the old process was asked to stop, and lived on for %.2f s without renewing: that is no part of the lock gap, and the predicted range is that much less", stopped)
	}
	return s
}

func after(t timeline.Trial, instant string) string {
	if v, ok := t.Instant(instant); ok {
		return fmt.Sprintf(" %.2f s after the command", v)
	}
	return ""
}
