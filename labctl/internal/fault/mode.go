// Package fault owns what can be done to the holder of a Lease: the modes, in words, and the means they need.
// It acts through a Target that its user brings; it knows no cluster itself.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Mode names one thing that is done to the holder.
type Mode string

// The modes that can be done. Force is what `--force` means.
const (
	Graceful     Mode = "graceful"
	ForceDelete  Mode = "force-delete"
	Kill         Mode = "kill"
	Crash        Mode = "crash"
	Rollout      Mode = "rollout"
	Upgrade      Mode = "upgrade"
	Evict        Mode = "evict"
	Freeze       Mode = "freeze"
	CutRefuse    Mode = "cut-refuse"
	CutBlackHole Mode = "cut-blackhole"
	Slow         Mode = "slow"
	Deny         Mode = "deny"
	Steal        Mode = "steal"
	DeleteLease  Mode = "delete-lease"
	APIDown      Mode = "api-down"

	Force = Kill
)

// Kind is what a mode touches beside the holder's own process; "" for nothing.
type Kind string

// The kinds.
const (
	OfReplicas Kind = "rollout"  // every replica is replaced
	OfRecord   Kind = "theft"    // somebody else is written into the Lease
	OfObject   Kind = "deletion" // the Lease object is removed
	OfServer   Kind = "outage"   // the API server answers nobody
	OfAnswers  Kind = "latency"  // the API server's answers reach the holder late, and what it asks for is done
)

// Need is what a place to run must be able to do for a mode; "" is nothing but the Kubernetes API.
type Need string

// The needs.
const (
	Signals  Need = "signal"      // send a signal to a pod's process
	Silencer Need = "silence"     // keep a pod's process from being heard
	Slower   Need = "slow"        // make the API server's answers to one pod late
	Stopper  Need = "stop-server" // stop the API server for a while
)

// Thief is the candidate that Steal writes into the Lease.
const Thief = "thief"

// Description tells people what a mode is.
type Description struct {
	Mode Mode
	// Title is the mode in a few words, for tables.
	Title string
	// Action is what is done, in one clause.
	Action string
	// Kubectl is the equivalent line with NAMESPACE, POD, DEPLOYMENT and LEASE; empty where no kubectl line does the same.
	Kubectl string
	// NoKubectl says why there is none.
	NoKubectl string
	// Releases is whether the holder gets the chance to give the Lease up.
	Releases bool
	// Silences is whether the holder lives on, unheard, for a while: then two may lead.
	Silences bool
	Kind     Kind
	Needs    Need
	// Advanced is whether it is for those who know the others.
	Advanced bool
	// Effect is what in the timeline shows that it took hold, and Undo how it ends.
	Effect, Undo string
	// Lesson is what the mode teaches, in one sentence.
	Lesson string
}

// LosesLease is whether the holder is robbed of the Lease while it lives and is heard: it learns that from the record.
func (d Description) LosesLease() bool { return d.Kind == OfRecord || d.Kind == OfObject }

// Replaces is whether something new comes in the holder's place: a pod, or a process in its container.
func (d Description) Replaces() bool { return !d.Silences && !d.LosesLease() && d.Kind != OfServer }

// Undone is whether labctl has something to undo.
func (d Description) Undone() bool {
	return d.Mode == Upgrade || d.Silences || d.Kind == OfObject || d.Kind == OfServer
}

// Describe returns the description of a mode.
func Describe(m Mode) (Description, bool) {
	for _, d := range Modes() {
		if d.Mode == m {
			return d, true
		}
	}
	return Description{}, false
}

// Subject is what a kubectl line names.
type Subject struct{ Namespace, Pod, Deployment, LeaseNamespace, Lease string }

// Line is the equivalent kubectl line, or "" where there is none.
func (d Description) Line(n Subject) string {
	return strings.NewReplacer("LEASE-NAMESPACE", n.LeaseNamespace, "NAMESPACE", n.Namespace, "POD", n.Pod, "DEPLOYMENT", n.Deployment, "LEASE", n.Lease).Replace(d.Kubectl)
}

// KubectlLine is Line for the lab's own operator.
func (d Description) KubectlLine(namespace, pod string) string {
	const own = "academy-operator"
	return d.Line(Subject{Namespace: namespace, Pod: pod, Deployment: own, LeaseNamespace: namespace, Lease: own})
}

// Parse reads a comma-separated list of modes, in the order given; every unknown name is reported.
func Parse(list string) ([]Mode, error) {
	var modes []Mode
	var unknown []string
	for _, name := range strings.Split(list, ",") {
		m := Mode(strings.TrimSpace(name))
		if _, ok := Describe(m); !ok {
			unknown = append(unknown, fmt.Sprintf("%q", string(m)))
			continue
		}
		modes = append(modes, m)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("unknown mode %s; the modes are %s", strings.Join(unknown, ", "), Names())
	}
	return modes, nil
}

// Names lists the modes, separated by commas.
func Names() string { return names(func(Description) bool { return true }) }

// CommonNames lists the modes to begin with.
func CommonNames() string { return names(func(d Description) bool { return !d.Advanced }) }

func names(which func(Description) bool) string {
	var names []string
	for _, d := range Modes() {
		if which(d) {
			names = append(names, string(d.Mode))
		}
	}
	return strings.Join(names, ", ")
}

// Pod identifies the replica that a fault acts on. The UID makes sure that a pod of the same name made later is left alone.
type Pod struct{ Name, UID string }

// ErrGone is returned by a Target when the pod, or its process, was gone already: the fault did not happen.
var ErrGone = errors.New("it was gone already")

// Target is what a fault needs from the world. The errors of its methods wrap ErrGone if there was nothing to act on.
type Target interface {
	// Delete asks the API server to delete the pod: with its own grace period, or at once if force. It returns when accepted.
	Delete(ctx context.Context, pod Pod, force bool) error
	// Evict asks for the same through the Eviction API, which a PodDisruptionBudget may refuse.
	Evict(ctx context.Context, pod Pod) error
	// Roll replaces every replica, as a new version of the program does.
	Roll(ctx context.Context) error
	// Upgrade replaces every replica by one of the next version, the pod's first, and each when the one before it was ready for a
	// while. Restore ends that waiting.
	Upgrade(ctx context.Context, pod Pod) error
	// Kill sends SIGKILL to the pod's process and returns when it was reaped.
	Kill(ctx context.Context, pod Pod) error
	// Silence keeps the pod's process from being heard, in the way of a mode that silences, and returns when it is so. It ends by
	// itself after lasts, whatever becomes of this program. Restore ends it sooner; nothing to end is no error.
	Silence(ctx context.Context, m Mode, pod Pod, lasts time.Duration) error
	// Steal writes the thief into the Lease that the pod holds, with a record that is valid. Nobody renews it.
	Steal(ctx context.Context, pod Pod, thief string) error
	// DeleteLease removes the Lease that the pod holds. What that leaves behind Restore removes.
	DeleteLease(ctx context.Context, pod Pod) error
	// Restore undoes what the mode left, and returns when it is undone; nothing to undo is no error.
	Restore(ctx context.Context, m Mode, pod Pod) error
}

// LongestSilence bounds a silence, so that one whose maker has died does not stay.
const LongestSilence = time.Minute

// Inject does what the mode says and returns when it was accepted. A silence lasts as long as it is told; of the other modes
// there is nothing to undo.
func Inject(ctx context.Context, m Mode, target Target, pod Pod, lasts time.Duration) error {
	switch m {
	case Graceful:
		return target.Delete(ctx, pod, false)
	case ForceDelete:
		return target.Delete(ctx, pod, true)
	case Kill:
		if err := target.Kill(ctx, pod); err != nil {
			return err
		}
		if err := target.Delete(ctx, pod, true); err != nil && !errors.Is(err, ErrGone) {
			return err
		}
		return nil
	case Crash:
		return target.Kill(ctx, pod)
	case Evict:
		return target.Evict(ctx, pod)
	case Rollout:
		return target.Roll(ctx)
	case Upgrade:
		return target.Upgrade(ctx, pod)
	case Freeze, CutRefuse, CutBlackHole, Slow, Deny, APIDown:
		return target.Silence(ctx, m, pod, lasts)
	case Steal:
		return target.Steal(ctx, pod, Thief)
	case DeleteLease:
		return target.DeleteLease(ctx, pod)
	default:
		return fmt.Errorf("mode %q cannot be done; the modes are %s", m, Names())
	}
}
