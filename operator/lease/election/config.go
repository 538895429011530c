// Package election makes one of several replicas the leader, through a Lease. plain.go is the course's recipe alone;
// the other files configure it, name the candidate and tell in the log what client-go does.
package election

import (
	"errors"

	"academy.example/lab/operator/api"
)

// Config says which Lease is contended for, as whom and how fast. All fields but ReleaseOnCancel are required.
type Config struct {
	// Namespace and Name are those of the Lease. Every replica must name the same one; one that names another leads
	// as well, and nothing tells.
	Namespace string
	Name      string

	// Identity is written into the Lease as holderIdentity and must differ between all live processes: a candidate
	// that reads its own identity takes the lease for its own, so two of one name both lead for ever.
	Identity string

	// Timing is the three durations. client-go sets no defaults and panics on zeros; all replicas should have the same.
	Timing api.Timing

	// ReleaseOnCancel gives the lease back when the process is asked to stop, so that a standby takes over at its
	// next attempt (at most 2.2 × RetryPeriod) and need not wait for LeaseDuration. The workers are told to stop
	// at the same moment, not before: work that outlives its context overlaps with the successor's.
	ReleaseOnCancel bool
}

// Validate returns every problem of c joined, each an api.Problem with what to type, or nil.
func (c Config) Validate() error {
	var problems []error
	require := func(value, what, flag, example string) {
		if value == "" {
			problems = append(problems, api.Problem{What: what + " is empty", Hint: "--" + flag + "=" + example})
		}
	}
	require(c.Namespace, "namespace of the Lease", api.FlagLeaseNamespace, api.DefaultNamespace)
	require(c.Name, "name of the Lease", api.FlagLeaseName, api.DefaultName)
	require(c.Identity, "identity of this candidate", api.FlagIdentity, api.IdentityPod)
	return errors.Join(append(problems, c.Timing.Validate())...)
}
