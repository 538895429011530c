package api

import (
	"fmt"
	"slices"
)

// Flags of academy-operator. Those of leader election have Kubernetes' own names, without the two dashes.
const (
	FlagLeaseDuration   = "leader-elect-lease-duration"
	FlagRenewDeadline   = "leader-elect-renew-deadline"
	FlagRetryPeriod     = "leader-elect-retry-period"
	FlagLeaseName       = "leader-elect-resource-name"
	FlagLeaseNamespace  = "leader-elect-resource-namespace"
	FlagElection        = "election"
	FlagIdentity        = "identity"
	FlagIdentityName    = "identity-name"
	FlagReleaseOnCancel = "release-on-cancel"
	FlagOnLoss          = "on-loss"
	FlagBindAddress     = "bind-address"
	FlagClusterGate     = "cluster-operation-gate" // of `academy-operator gate`
	FlagGatePause       = "pause-before-job"       // of the same
	FlagKubeconfig      = "kubeconfig"
)

// Flags that switch the protections of the guarded election off, one each; see Guards.
const (
	FlagGuardClient   = "guard-client"
	FlagGuardDeadline = "guard-deadline"
	FlagGuardRelease  = "guard-release"
	FlagGuardFence    = "guard-fence"
)

// Values of --election, --identity and --on-loss.
const (
	ElectionPlain   = "plain"   // the course's recipe alone
	ElectionGuarded = "guarded" // the same with a protection for each of its weak points
	// ElectionCoordinated leaves the choice to the API server: the oldest version that is there leads (KEP-4355).
	ElectionCoordinated = "coordinated"

	IdentityPod     = "pod"      // the pod's name: a restarted container takes its own lease back
	IdentityPodUUID = "pod+uuid" // the pod's name and a random part: each process is a candidate of its own

	OnLossExit   = "exit"   // a log line and an exit
	OnLossRejoin = "rejoin" // contend again in the same process
)

// DefaultElection is what academy-operator runs without a flag.
const DefaultElection = ElectionGuarded

// Elections returns the values of --election that academy-operator is built with.
func Elections() []string { return append(ContendedElections(), ElectionCoordinated) }

// ContendedElections returns those in which the candidates take the Lease themselves, and nobody elects them.
func ContendedElections() []string { return []string{ElectionPlain, ElectionGuarded} }

// Losses returns the values of --on-loss.
func Losses() []string { return []string{OnLossExit, OnLossRejoin} }

// CheckLoss returns nil if academy-operator can run with that answer to a loss under that election, else a Problem.
func CheckLoss(election, loss string) error {
	hint := fmt.Sprintf("--%s=%s", FlagOnLoss, OnLossExit)
	switch {
	case !slices.Contains(Losses(), loss):
		return Problem{What: fmt.Sprintf("--%s=%s is unknown", FlagOnLoss, loss), Hint: hint}
	case loss == OnLossRejoin && election != ElectionGuarded:
		return Problem{What: fmt.Sprintf("--%s=%s belongs to --%s=%s: the course's recipe exits", FlagOnLoss, loss, FlagElection, ElectionGuarded), Hint: hint}
	}
	return nil
}

// Identities returns the values of --identity.
func Identities() []string { return []string{IdentityPod, IdentityPodUUID} }

// CheckElection returns nil if academy-operator can run with that election, else a Problem.
func CheckElection(name string) error {
	if slices.Contains(Elections(), name) {
		return nil
	}
	return Problem{What: fmt.Sprintf("--%s=%s is unknown", FlagElection, name), Hint: fmt.Sprintf("--%s=%s", FlagElection, ElectionPlain)}
}

// Environment variables that the downward API fills in manifests/deployment.yaml.
const (
	EnvPodName      = "POD_NAME"
	EnvPodNamespace = "POD_NAMESPACE"
	EnvPodUID       = "POD_UID"
	EnvPodIP        = "POD_IP"
)

// Exit codes of academy-operator.
const (
	ExitStopped    = 0 // asked to stop; whether a held lease was given back is in the log and in the Lease
	ExitLost       = 1 // leadership was lost
	ExitCannotRun  = 3 // configuration or environment; the reasons are on stderr
	ExitUnreleased = 4 // exit-without-release
)
