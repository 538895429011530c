package cmd

import (
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/gatelab"
)

// mostBegun is how many Jobs of machines may begin while a cluster waits: as many as passes can be under way when it takes its lease.
const mostBegun = 4

// gateNext is what leads on from a verdict.
type gateNext string

// What leads on.
const (
	nextLook   gateNext = ""       // look at the leases
	nextLonger gateNext = "longer" // the same with a longer limit
	nextAgain  gateNext = "again"  // the same once more, when the lab is well
	nextJobs   gateNext = "jobs"   // look at the Jobs
	nextDenser gateNext = "denser" // the same with operations that meet
)

// judgeFlow is the verdict over a flow. What was seen to be wrong is a fail, however the flow ended; a pass needs all that was asked for,
// done and seen in its order.
func judgeFlow(flow gatelab.Judgement, gated bool) (check.Verdict, string, gateNext) {
	if gated {
		if reason := faultOf(flow); reason != "" {
			return check.Fail, reason, nextLook
		}
	}
	missing := fmt.Sprintf("%d of %d operations were done", flow.Done, flow.Requested)
	switch {
	case flow.Ended != "" && flow.Unseen != "":
		return check.Unknown, flow.Ended + ": " + missing + "; " + flow.Unseen, nextAgain
	case flow.Ended != "":
		return check.Unknown, flow.Ended + ": " + missing, nextLonger
	case flow.Done < flow.Requested:
		return check.Unknown, missing + "; the other Jobs failed, or were deleted", nextJobs
	case flow.Unseen != "":
		return check.Unknown, flow.Unseen, nextAgain
	case !gated && len(flow.Overlaps) == 0:
		return check.Unknown, "the gate was off, and nothing happened to overlap", nextDenser
	case !gated:
		return check.Pass, fmt.Sprintf("the gate was off: %d overlaps, as is to be expected", len(flow.Overlaps)), nextLook
	case len(flow.Turns) == 0:
		return check.Unknown, "no operation of the cluster began", nextLonger
	}
	return check.Pass, fmt.Sprintf("no overlap in %d operations, %d of them of the cluster", flow.Operations, len(flow.Turns)), nextLook
}

// faultOf is what the gate did wrong; "" if nothing was seen.
func faultOf(flow gatelab.Judgement) string {
	if n := len(flow.Overlaps); n > 0 {
		return fmt.Sprintf("%d overlaps, the first: %s", n, flow.Overlaps[0])
	}
	for _, t := range flow.Turns {
		if t.Begun > mostBegun {
			return fmt.Sprintf("%d Jobs of machines began while %s waited: the cluster is not preferred", t.Begun, t.Job)
		}
	}
	for _, t := range flow.Open {
		if t.Begun > mostBegun {
			return fmt.Sprintf("%d Jobs of machines began while %s waited, which never began: the cluster is not preferred", t.Begun, t.Job)
		}
	}
	return ""
}

// gateNext is the commands that lead on.
func (a *app) gateNext(next gateNext, namespace string, f gateRunFlags) []string {
	jobs := fmt.Sprintf("kubectl get jobs -n %s -l captf.io/owner-kind", namespace)
	switch next {
	case nextLonger:
		return []string{a.again("--limit") + " --limit " + longer(f), "labctl gate status", jobs}
	case nextAgain:
		return []string{"labctl doctor", a.again("--limit") + " --limit " + f.limit.String()}
	case nextJobs:
		return []string{jobs, "labctl gate status"}
	case nextDenser:
		return []string{a.again("--rest") + " --rest 5s"}
	}
	return []string{"labctl gate status", fmt.Sprintf("kubectl get lease -n %s -l captf.io/lease=run", namespace), fmt.Sprintf("kubectl get lease -n %s -l captf.io/lease=cluster", namespace)}
}

// longer is a limit that a flow may do with: twice the last, and at least as long as it takes to make the machines, and ten minutes for
// those that wait.
func longer(f gateRunFlags) string {
	needs := time.Duration(f.operations)*f.every + 10*time.Minute
	return fmt.Sprintf("%.0fm", min(mostLimit, max(2*f.limit, needs)).Minutes())
}
