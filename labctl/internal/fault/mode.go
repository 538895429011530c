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
	Freeze       Mode = "freeze"
	CutRefuse    Mode = "cut-refuse"
	CutBlackHole Mode = "cut-blackhole"

	Force = Kill
)

// Description tells people what a mode is.
type Description struct {
	Mode Mode
	// Title is the mode in a few words, for tables.
	Title string
	// Action is what is done, in one clause.
	Action string
	// Kubectl is the equivalent line with %s for namespace and pod; empty where no kubectl line does the same.
	Kubectl string
	// NoKubectl says why there is none.
	NoKubectl string
	// Releases is whether the holder gets the chance to give the Lease up.
	Releases bool
	// Silences is whether the holder lives on, unheard, for a while: then two may lead.
	Silences bool
	// Lesson is what the mode teaches, in one sentence.
	Lesson string
}

// Modes returns every mode in teaching order.
func Modes() []Description {
	return []Description{
		{
			Mode: Graceful, Title: "graceful", Action: "delete the holder's pod",
			Kubectl: "kubectl -n %s delete pod %s", Releases: true,
			Lesson: "SIGTERM, the holder releases the Lease and exits; a candidate takes it at its next poll.",
		},
		{
			Mode: ForceDelete, Title: "as typed: force-delete", Action: "delete the holder's pod with --grace-period=0 --force",
			Kubectl: "kubectl -n %s delete pod %s --grace-period=0 --force", Releases: true,
			Lesson: "Forced is not a crash: the object goes at once, but the process still gets SIGTERM and two seconds, and it releases.",
		},
		{
			Mode: Kill, Title: "nobody released: kill", Action: "SIGKILL the holder's process, then force-delete its pod",
			NoKubectl: "no kubectl line sends SIGKILL", Releases: false,
			Lesson: "SIGKILL leaves no chance to release: a candidate must see the record unchanged for LeaseDuration on its own clock.",
		},
		{
			Mode: Crash, Title: "crash", Action: "SIGKILL the holder's process and leave its pod",
			NoKubectl: "no kubectl line sends SIGKILL", Releases: false,
			Lesson: "The container restarts in the same pod under the same name and takes its own Lease back: no transition tells of it.",
		},
		{
			Mode: Freeze, Title: "freeze", Action: "SIGSTOP the holder's process until a standby leads, then SIGCONT",
			NoKubectl: "no kubectl line sends SIGSTOP", Silences: true,
			Lesson: "A frozen leader does not know that time has passed: on resume plain client-go works on for RenewDeadline beside the new leader.",
		},
		{
			Mode: CutRefuse, Title: "cut off, refused", Action: "refuse the holder's connections to the API server until a standby leads",
			NoKubectl: "no kubectl line cuts one pod off", Silences: true,
			Lesson: "Each renewal fails at once: plain client-go gives up RenewDeadline after its first failure, before a standby may lead.",
		},
		{
			Mode: CutBlackHole, Title: "cut off, black hole", Action: "drop the holder's packets to and from the API server until a standby leads",
			NoKubectl: "no kubectl line cuts one pod off", Silences: true,
			Lesson: "With ReleaseOnCancel the release of plain client-go hangs in the black hole before its workers are told to stop: two leaders.",
		},
	}
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

// KubectlLine is the equivalent kubectl line, or "" where there is none.
func (d Description) KubectlLine(namespace, pod string) string {
	if d.Kubectl == "" {
		return ""
	}
	return fmt.Sprintf(d.Kubectl, namespace, pod)
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

// CommonNames lists the modes that every provider can do.
func CommonNames() string { return names(func(d Description) bool { return !d.Silences }) }

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

// Target is what a fault needs from the world. The errors of both methods wrap ErrGone if there was nothing to act on.
type Target interface {
	// Delete asks the API server to delete the pod: with its own grace period, or at once if force. It returns when accepted.
	Delete(ctx context.Context, pod Pod, force bool) error
	// Kill sends SIGKILL to the pod's process and returns when it was reaped.
	Kill(ctx context.Context, pod Pod) error
	// Silence keeps the pod's process from being heard, in the way of a mode that silences, and returns when it is so. It ends by
	// itself after lasts, whatever becomes of this program. Restore ends it sooner; nothing to end is no error.
	Silence(ctx context.Context, m Mode, pod Pod, lasts time.Duration) error
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
	case Freeze, CutRefuse, CutBlackHole:
		return target.Silence(ctx, m, pod, lasts)
	default:
		return fmt.Errorf("mode %q cannot be done; the modes are %s", m, Names())
	}
}
