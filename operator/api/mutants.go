package api

// MutantProgram is the name of the binary of faulty operators, and FlagMutant says which fault it has.
const (
	MutantProgram = "academy-mutants"
	FlagMutant    = "mutant"
)

// The faults of academy-mutants, each as a public report tells it. Those that academy-operator's own flags bring about are
// not among them.
const (
	MutantZeroRelease     = "zero-release"      // the release writes leaseDurationSeconds 0, which the API server refuses
	MutantReleaseFirst    = "release-first"     // the Lease is released while the work still stops
	MutantLivesOn         = "lives-on"          // after the release the process goes on, and its work with it
	MutantWorksOn         = "works-on"          // who lost the Lease works on
	MutantStopSkipped     = "stop-skipped"      // a failed renewal releases, and the work is never told to stop
	MutantOneShot         = "one-shot"          // who lost the Lease never contends again, and stays green
	MutantStandbyWorks    = "standby-works"     // a standby that is asked to stop begins the leader's work
	MutantWallClock       = "wall-clock"        // expiry is counted from renewTime by the reader's clock, which is ahead
	MutantFractional      = "fractional"        // a LeaseDuration of 1.5 s, of which the Lease keeps 1
	MutantSharedLimiter   = "shared-limiter"    // renewals wait behind the work in one rate limiter
	MutantReadyIsLeader   = "ready-is-leader"   // readiness waits for the Lease
	MutantNoDurations     = "no-durations"      // the three durations are left at zero
	MutantPanicsOnRefusal = "panics-on-refusal" // an update that is refused is followed by a nil pointer
	MutantForLife         = "for-life"          // a holder keeps the Lease as long as its pod is there
)

// Mutants returns the faults of academy-mutants.
func Mutants() []string {
	return []string{MutantZeroRelease, MutantReleaseFirst, MutantLivesOn, MutantWorksOn, MutantStopSkipped, MutantOneShot, MutantStandbyWorks,
		MutantWallClock, MutantFractional, MutantSharedLimiter, MutantReadyIsLeader, MutantNoDurations, MutantPanicsOnRefusal, MutantForLife}
}
