package report

import (
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Narrator tells a timeline in lines, one for each event that says something new.
type Narrator struct {
	lease   *timeline.Lease
	seen    float64 // arrival of the last write of the Lease
	fresh   bool    // the last write was a takeover: its holder is about to renew for the first time
	atBegin bool    // the last write is what was there when the watching began: nobody saw it being written
	ready   map[string]bool
	works   string // the holder whose work was told last
}

// history is the age from which a log line was written before the watching began and is not told again.
const history = 2 * time.Second

// Line returns the line for the next event, or "" for one that says nothing new. Of what was there at the beginning it
// returns two lines.
func (n *Narrator) Line(e timeline.Event) string {
	e = e.Visible()
	what := n.tell(e)
	if what == "" {
		return ""
	}
	return Stamped(e.Wall, what)
}

// Stamped writes lines with their time.
func Stamped(at time.Time, what string) string {
	stamp := at.Local().Format("15:04:05.000") + "  "
	return stamp + strings.ReplaceAll(what, "\n", "\n"+stamp)
}

func (n *Narrator) tell(e timeline.Event) string {
	switch e.Kind {
	case timeline.LeaseSeen:
		return n.tellLease(e)
	case timeline.LeaseGone:
		n.lease = nil
		return "lease    the Lease was deleted"
	case timeline.PodSeen:
		return n.tellPod(e.Pod)
	case timeline.PodGone:
		return "pod      " + e.Pod.Name + " is gone from the API"
	case timeline.ProcessUp:
		return fmt.Sprintf("process  %s started (pid %d, restarts %d)", e.Process.Pod, e.Process.PID, e.Process.Restarts)
	case timeline.ProcessGone:
		return fmt.Sprintf("process  %s ended (pid %d, exit code %d)", e.Process.Pod, e.Process.PID, e.Process.ExitCode)
	case timeline.WorkSeen:
		first, same := n.works == "", e.Work.Holder == n.works
		n.works = e.Work.Holder
		if first || same {
			return "" // the first is what was written before the watching began
		}
		return fmt.Sprintf("work     %s works (transition %d, sequence %d)", e.Work.Holder, e.Work.Transition, e.Work.Sequence)
	case timeline.LogLine:
		if e.Wall.Sub(e.Log.Time) > history && !e.Log.Time.IsZero() {
			return ""
		}
		return n.tellLog(e)
	case timeline.FaultIssued:
		return fmt.Sprintf("fault    %s of %s", e.Fault.Mode, e.Fault.Pod)
	case timeline.FaultAccepted:
		return "fault    accepted"
	case timeline.FaultEnded:
		return "fault    " + e.Note
	case timeline.WatchHole:
		return "hole     events may be missing: " + e.Note
	case timeline.ServerAway:
		return n.tellAway(e)
	case timeline.ServerBack:
		return "api      " + e.Note
	default:
		return ""
	}
}

// tellAway tells the first attempts that fail, and then the ones whose number has doubled.
func (n *Narrator) tellAway(e timeline.Event) string {
	if e.Retry == nil {
		return "api      the API server does not answer; what follows may be late"
	}
	if a := e.Retry.Attempt; a&(a-1) != 0 {
		return ""
	}
	return fmt.Sprintf("api      no answer to attempt %d; the next is in %.1f s", e.Retry.Attempt, e.Retry.NextSeconds)
}

func (n *Narrator) tellLease(e timeline.Event) string {
	before, since, fresh, initial := n.lease, e.Seconds-n.seen, n.fresh, n.atBegin
	l := e.Lease
	if before != nil && *l == *before && l.ResourceVersion != "" {
		return "" // listed again
	}
	n.lease, n.seen, n.fresh, n.atBegin = l, e.Seconds, false, before == nil
	switch {
	case l.PreferredHolder != "" && (before == nil || before.PreferredHolder != l.PreferredHolder):
		return fmt.Sprintf("lease    the API server prefers %s to %s, which renews no more", Short(l.PreferredHolder), Short(l.Holder))
	case before != nil && l.Strategy != "" && l.Holder != before.Holder:
		n.fresh = true
		return fmt.Sprintf("lease    the API server elected %s (%s)", Short(l.Holder), l.Strategy)
	case before == nil && l.Holder == "":
		return fmt.Sprintf("lease    nobody holds it; leaseTransitions %d", l.Transitions)
	case before == nil:
		return fmt.Sprintf("lease    held by %s\nlease    %s; %s, leaseTransitions %d", l.Holder, renewal(e), duration(l), l.Transitions)
	case l.Holder == before.Holder && l.Holder == "":
		return ""
	case l.Holder == before.Holder && fresh && since < soon:
		return "" // the election writes twice when it takes a Lease
	case l.Holder == before.Holder && initial:
		return fmt.Sprintf("lease    %s renewed", l.Holder)
	case l.Holder == before.Holder:
		return fmt.Sprintf("lease    %s renewed, after %.2f s", l.Holder, since)
	case l.Holder == "":
		return fmt.Sprintf("lease    %s released it", before.Holder)
	}
	n.fresh = true
	how := "expired: %.2f s old"
	switch {
	case before.Holder == "":
		how = "released %.2f s before"
	case since < float64(before.LeaseDurationSeconds)-slack:
		how = "valid: %.2f s old"
	}
	return fmt.Sprintf("lease    %s took it ("+how+"); leaseTransitions %d", Short(l.Holder), since, l.Transitions)
}

// renewal is when a record that was there already was renewed, by what it says.
func renewal(e timeline.Event) string {
	age := e.Wall.Sub(e.Lease.RenewTime).Seconds()
	switch {
	case e.Lease.RenewTime.IsZero():
		return "no renewTime"
	case age < -1:
		return "renewed in the future"
	default:
		return fmt.Sprintf("renewed %.1f s ago", max(0, age))
	}
}

func duration(l *timeline.Lease) string {
	if l.LeaseDurationSeconds == 0 {
		return "no duration"
	}
	return fmt.Sprintf("lasts %d s", l.LeaseDurationSeconds)
}

// soon is within which a second write after a takeover belongs to it; slack is how much earlier than LeaseDuration an expiry
// may appear: renewTime is compared in whole seconds.
const soon, slack = 0.5, 1.1

func (n *Narrator) tellPod(p *timeline.Pod) string {
	if n.ready == nil {
		n.ready = map[string]bool{}
	}
	state := fmt.Sprintf("%s/%t/%t/%d", p.UID, p.Ready, p.Terminating, p.Restarts)
	if n.ready[state] {
		return ""
	}
	n.ready[state] = true
	switch {
	case p.Terminating:
		return "pod      " + p.Name + " is terminating"
	case p.Ready:
		return "pod      " + p.Name + " is ready"
	default:
		return fmt.Sprintf("pod      %s is not ready (%s, restarts %d)", p.Name, p.Phase, p.Restarts)
	}
}

// tellLog leaves out what comes many times a second or is told by the Lease itself.
func (n *Narrator) tellLog(e timeline.Event) string {
	l := e.Log
	switch l.Message {
	case api.MessageReconcile, api.MessageServing:
		return ""
	case api.MessageAttempt:
		return "log      " + Short(l.Pod) + " polled: " + n.found(e.Seconds)
	}
	if l.Raw != "" {
		return "log      " + l.Pod + ": " + l.Raw
	}
	return "log      " + l.Pod + ": " + l.Message
}

// found is what a candidate that polls finds, as far as it is known here. That a holder is named does not mean that it lives.
func (n *Narrator) found(now float64) string {
	switch {
	case n.lease == nil:
		return "no Lease"
	case n.lease.Holder == "":
		return "free"
	default:
		return fmt.Sprintf("still in %s's name, changed %.1f s ago", Short(n.lease.Holder), now-n.seen)
	}
}

// Short is the last part of a pod's name, which tells the replicas apart.
func Short(holder string) string {
	name := timeline.PodOf(holder)
	return name[strings.LastIndexByte(name, '-')+1:]
}
