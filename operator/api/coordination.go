package api

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Flags of the coordinated election, without the two dashes.
const (
	FlagStrategy         = "coordination-strategy"
	FlagBinaryVersion    = "binary-version"
	FlagEmulationVersion = "emulation-version"
)

// StrategyOldest is the only strategy that the API server carries out: the lowest emulation version leads, among equals the
// lowest binary version, among equals the candidate that was made first.
const StrategyOldest = "OldestEmulationVersion"

// DefaultBinaryVersion is what a replica says of itself without a flag.
const DefaultBinaryVersion = "1.0.0"

// CoordinationVersion is the API that the coordinated election needs beside Leases, and CoordinationGate the feature gate of the
// API server that elects.
const (
	CoordinationVersion = "coordination.k8s.io/v1beta1"
	CoordinationGate    = "CoordinatedLeaderElection"
	CandidateResource   = "leasecandidates"
)

// CoordinationFlags is what an API server must be started with for the coordinated election.
const CoordinationFlags = "--feature-gates=" + CoordinationGate + "=true --runtime-config=" + CoordinationVersion + "=true"

// Coordination is what a candidate of the coordinated election says of itself.
type Coordination struct {
	Strategy         string `json:"strategy"`
	BinaryVersion    string `json:"binaryVersion"`    // of the program, three numbers: 1.37.0
	EmulationVersion string `json:"emulationVersion"` // of the program that it behaves like; at most BinaryVersion
}

// version is what the API server takes for a semantic version, without a pre-release: no v before it, no leading zeros.
var version = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

// Validate returns every problem of c joined, each a Problem with what to type, or nil.
func (c Coordination) Validate() error {
	var problems []error
	if c.Strategy != StrategyOldest {
		problems = append(problems, Problem{What: fmt.Sprintf("--%s=%s is unknown", FlagStrategy, c.Strategy), Hint: fmt.Sprintf("--%s=%s", FlagStrategy, StrategyOldest)})
	}
	binary, emulated := CheckVersion(FlagBinaryVersion, c.BinaryVersion), CheckVersion(FlagEmulationVersion, c.EmulationVersion)
	problems = append(problems, binary, emulated)
	if binary == nil && emulated == nil && CompareVersions(c.EmulationVersion, c.BinaryVersion) > 0 {
		problems = append(problems, Problem{
			What: fmt.Sprintf("--%s=%s is newer than --%s=%s: a program can only behave like an older one", FlagEmulationVersion, c.EmulationVersion, FlagBinaryVersion, c.BinaryVersion),
			Hint: fmt.Sprintf("--%s=%s", FlagEmulationVersion, c.BinaryVersion)})
	}
	return errors.Join(problems...)
}

// CheckVersion returns nil for a version that the API server takes, else a Problem that names the flag.
func CheckVersion(flag, v string) error {
	if version.MatchString(v) && v != "0.0.0" { // which the API server takes for none
		return nil
	}
	return Problem{What: fmt.Sprintf("--%s=%s is no version of three numbers", flag, v), Hint: fmt.Sprintf("--%s=1.37.0", flag)}
}

// CompareVersions is negative if a is older than b, and 0 if they are alike. Both must have passed CheckVersion.
func CompareVersions(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

// NextVersion is the next minor version: 1.37.2 gives 1.38.0. v must have passed CheckVersion.
func NextVersion(v string) string {
	n := numbers(v)
	return fmt.Sprintf("%d.%d.0", n[0], n[1]+1)
}

func numbers(v string) []int {
	n := make([]int, 3)
	for i, part := range strings.SplitN(v, ".", 3) {
		n[i], _ = strconv.Atoi(part)
	}
	return n
}

// Emulated is the emulation version that is meant: the binary version if none was given.
func Emulated(emulation, binary string) string { return cmp.Or(emulation, binary) }
