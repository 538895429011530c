package report

import (
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Narrator tells a timeline in lines, one for each event that says something new.
type Narrator struct {
	lease *timeline.Lease
	seen  float64 // arrival of the last write of the Lease
	ready map[string]bool
	works string // the holder whose work was told last
}

// history is the age from which a log line was written before the watching began and is not told again.
const history = 2 * time.Second

// Line returns the line for the next event, or "" for one that says nothing new.
func (n *Narrator) Line(e timeline.Event) string {
	what := n.tell(e)
	if what == "" {
		return ""
	}
	return e.Wall.Local().Format("15:04:05.000") + "  " + what
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
		return tellLog(e.Log)
	case timeline.FaultIssued:
		return fmt.Sprintf("fault    %s of %s", e.Fault.Mode, e.Fault.Pod)
	case timeline.FaultAccepted:
		return "fault    accepted"
	case timeline.WatchHole:
		return "hole     events may be missing: " + e.Note
	default:
		return ""
	}
}

func (n *Narrator) tellLease(e timeline.Event) string {
	before, since := n.lease, e.Seconds-n.seen
	n.lease, n.seen = e.Lease, e.Seconds
	l := e.Lease
	switch {
	case before == nil && l.Holder == "":
		return fmt.Sprintf("lease    nobody holds it; leaseTransitions %d", l.Transitions)
	case before == nil:
		return fmt.Sprintf("lease    held by %s; leaseDurationSeconds %d, leaseTransitions %d", l.Holder, l.LeaseDurationSeconds, l.Transitions)
	case l.Holder == before.Holder:
		return fmt.Sprintf("lease    %s renewed, %.2f s after the last time", l.Holder, since)
	case l.Holder == "":
		return fmt.Sprintf("lease    %s released it", before.Holder)
	default:
		how := "it had expired"
		if before.Holder == "" {
			how = "it was released"
		}
		return fmt.Sprintf("lease    %s took it (%s), %.2f s after the last write; leaseTransitions %d", l.Holder, how, since, l.Transitions)
	}
}

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
func tellLog(l *timeline.Log) string {
	switch l.Message {
	case api.MessageReconcile, api.MessageServing:
		return ""
	case api.MessageAttempt:
		return "log      " + l.Pod + " polled the Lease: it is held"
	}
	if l.Raw != "" {
		return "log      " + l.Pod + ": " + l.Raw
	}
	return "log      " + l.Pod + ": " + l.Message
}
