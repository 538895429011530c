// Package mutant owns the faulty operators that the lab's checks are tried on: which there are, from which report, what exposes
// each, and what counts as an alarm. It touches no cluster.
package mutant

import (
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/operator/api"
)

// What exposes a fault beside the modes of package fault.
const (
	Start     fault.Mode = "start"     // nothing is done: replicas are started and must become ready, with a leader
	Untouched fault.Mode = "untouched" // nothing is done: the Lease is watched for Watch, and must stay where it is
)

// How long a start may take, and how long an untouched Lease is watched for one trial.
const (
	StartLimit = 30 * time.Second
	Watch      = 45 * time.Second
)

// Limit is how many trials a mutant has to be caught in.
const Limit = 20

// Mutant is an operator with one fault.
type Mutant struct {
	Name string
	// Report is where the fault was told in public, and Fault what it is, in one clause.
	Report, Fault string
	// Mode exposes it, and Alarm is the check that notices; or several, any of which does, joined by ", ".
	Mode  fault.Mode
	Alarm string
	// Flags are arguments beside the defaults. Patched is whether they are academy-mutants' own; else it is the operator itself.
	Flags   []string
	Patched bool
	// Timing is what it runs with, and Replicas how many there are.
	Timing   api.Timing
	Replicas int
	// Expect is the symptom of one trial, in words.
	Expect string
	// Needs is how many trials show it with at least 95 % probability.
	Needs int
	// Begins is how far its replicas come where the start exposes it; nil elsewhere.
	Begins *Begin
	// For are the mutants that a reference is tried in place of; none of a mutant.
	For []Mutant
}

// Reference is the name of the operator as it is shipped, which raises no alarm.
const Reference = "reference"

// All returns the mutants in the order of what exposes them.
func All() []Mutant {
	all := append(ofTheEnd(), ofSilence()...)
	return append(all, ofNothing()...)
}

// patched is a mutant of academy-mutants at 5/3/1 with two replicas.
func patched(name, report, what string, mode fault.Mode, alarm, expect string) Mutant {
	return Mutant{Name: name, Report: report, Fault: what, Mode: mode, Alarm: alarm, Expect: expect,
		Flags: []string{"--" + api.FlagMutant + "=" + name}, Patched: true, Timing: api.Fast(), Replicas: 2, Needs: 1}
}

// switched is the operator with one of its own switches set.
func switched(name, report, what string, mode fault.Mode, alarm, expect string, flags ...string) Mutant {
	return Mutant{Name: name, Report: report, Fault: what, Mode: mode, Alarm: alarm, Expect: expect, Flags: flags, Timing: api.Fast(), Replicas: 2, Needs: 1}
}

// needs is the mutant with another number of trials that show it.
func (m Mutant) needs(trials int) Mutant {
	m.Needs = trials
	return m
}

// begins is the mutant with how far its replicas come.
func (m Mutant) begins(b Begin) Mutant {
	m.Begins = &b
	return m
}

// ofTheEnd are wrong when they are asked to stop.
func ofTheEnd() []Mutant {
	return []Mutant{
		switched("release-not-plumbed", "kubernetes-sigs/controller-runtime#1522", "the option to release is not passed on", fault.Graceful, alarmClass,
			"class expired in place of released", "--"+api.FlagReleaseOnCancel+"=false"),
		patched(api.MutantZeroRelease, "kubernetes/client-go#762", "the release writes leaseDurationSeconds 0, which the API server refuses", fault.Graceful, alarmClass,
			"class expired in place of released"),
		patched(api.MutantReleaseFirst, "kubernetes/kubernetes#139991", "the Lease is released while the work still stops", fault.Graceful, alarmOverlap,
			"two leaders for 6 s less the lock gap: at least 3.8 s, at 15/10/2 1.6 s"),
		patched(api.MutantLivesOn, "kubernetes-sigs/controller-runtime#1132", "the process and its work go on after the release", fault.Graceful, alarmOverlap,
			"two leaders until SIGKILL ends the pod's grace of 30 s"),
		patched(api.MutantStandbyWorks, "kubernetes-sigs/controller-runtime#2719", "a standby that is asked to stop begins the leader's work", fault.Rollout, alarmUnheld,
			"a replica that never held the Lease works, in about every second rollout: the others end the holder first").needs(5),
	}
}

// ofSilence are wrong when they are not heard, or lose the Lease.
func ofSilence() []Mutant {
	blackHole := switched("no-client-timeout", "vmware-tanzu/nsx-operator#1558", "the client of the Lease has no time-out, and a failed renewal releases first", fault.CutBlackHole, alarmOverlap,
		"two leaders in 99 of 100 trials at 15/10/2, for 3.7 s on average", "--"+api.FlagElection+"="+api.ElectionPlain)
	blackHole.Timing = api.Default()
	oneShot := patched(api.MutantOneShot, "kubernetes-client/java#714", "who lost the Lease never contends again, and stays green", fault.Steal, alarmNobody,
		"nobody takes the Lease after the thief's record ran out")
	oneShot.Replicas = 1
	return []Mutant{
		blackHole,
		switched("no-deadline", "kubernetes/kubernetes#23731", "nothing bounds the belief to lead but client-go's own loop", fault.Freeze, alarmOverlap,
			"two leaders for RenewDeadline after the process goes on", "--"+api.FlagGuardDeadline+"=false"),
		patched(api.MutantWorksOn, "argoproj/argo-rollouts#2117", "who lost the Lease works on", fault.Steal, alarmOverlap,
			"two leaders as long as one looks"),
		patched(api.MutantStopSkipped, "operator-framework/java-operator-sdk#2056", "after a failed renewal the work is never told to stop", fault.CutRefuse, alarmOverlap,
			"two leaders as long as one looks"),
		oneShot,
		patched(api.MutantForLife, "operator-framework/operator-sdk#1305", "the Lease ends with its holder's pod, and not with its renewals", fault.Freeze, alarmClass+", "+alarmNobody,
			"no standby takes over: the frozen pod keeps the Lease"),
		patched(api.MutantPanicsOnRefusal, "kubernetes/kubernetes#87800", "an update that is refused is followed by a nil pointer", fault.Deny, alarmPanic,
			"the holder's process ends with exit code 2"),
	}
}

// ofNothing are wrong although nothing is done to them.
func ofNothing() []Mutant {
	return []Mutant{
		patched(api.MutantWallClock, "milvus-io/talon#165", "expiry is counted from renewTime by the reader's clock, which is 20 s ahead", Untouched, alarmMoved,
			"a healthy holder loses the Lease"),
		patched(api.MutantFractional, "ome-projects/ome#913", "a LeaseDuration of 1.5 s, of which the Lease keeps 1 s", Untouched, alarmMoved,
			"a healthy holder loses the Lease, after about two minutes").needs(8),
		patched(api.MutantSharedLimiter, "kubernetes-sigs/kueue#15537", "renewals wait behind 200 reconciles in one rate limiter", Untouched, alarmMoved,
			"a busy holder loses the Lease"),
		patched(api.MutantReadyIsLeader, "cloudnative-pg/plugin-barman-cloud#419", "readiness waits for the Lease", Start, NotReady,
			"the standby never becomes ready").begins(Begin{Ready: 1, Held: true}),
		patched(api.MutantNoDurations, "cert-manager/cert-manager#6808", "the three durations are left at zero", Start, NotReady,
			"nobody leads: the process ends again and again").begins(Begin{Exit: panics}),
	}
}

// ByName returns the mutant of that name.
func ByName(name string) (Mutant, bool) {
	for _, m := range All() {
		if m.Name == name {
			return m, true
		}
	}
	return Mutant{}, false
}

// References are the trials of an operator that should be right: one for each thing that exposes these mutants, with the timing
// and the replicas that they are exposed with.
func References(name string, of []Mutant) []Mutant {
	type way struct {
		mode     fault.Mode
		timing   api.Timing
		replicas int
	}
	seen := map[way]int{}
	var out []Mutant
	for _, m := range of {
		w := way{m.Mode, m.Timing, m.Replicas}
		i, known := seen[w]
		if !known {
			i = len(out)
			seen[w] = i
			out = append(out, Mutant{Name: name, Mode: m.Mode, Timing: m.Timing, Replicas: m.Replicas})
		}
		out[i].Needs = max(out[i].Needs, m.Needs)
		out[i].For = append(out[i].For, m)
	}
	return out
}
