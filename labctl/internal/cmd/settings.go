package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
)

// settingFlags are the operator's settings on the command line of `operator set` and `failover`. Only those given change
// anything, so none has a default.
type settingFlags struct {
	timing, election, identity, release string
}

func (f *settingFlags) define(c *cobra.Command, when string) {
	c.Flags().StringVar(&f.timing, "timing", "", "durations"+when+": default (15/10/2), fast (5/3/1) or three numbers of seconds")
	c.Flags().StringVar(&f.identity, "identity", "", "name of a candidate"+when+": pod, the pod's; pod+uuid, a new one for each process")
	c.Flags().StringVar(&f.release, "release-on-cancel", "", "whether a replica that is asked to stop gives the Lease up"+when+": true or false")
	c.Flags().StringVar(&f.election, "election", "", "how leaders are elected"+when+": "+strings.Join(api.Elections(), " or "))
}

// change reads the flags that were given.
func (f settingFlags) change(c *cobra.Command) (replica.Change, error) {
	var change replica.Change
	given := c.Flags().Changed
	wrong := func(hint, format string, args ...any) error {
		return &provider.Problem{Err: fmt.Errorf(format, args...), Hint: c.CommandPath() + " " + hint}
	}
	if given("timing") {
		timing, err := parseTiming(c.CommandPath(), f.timing)
		if err != nil {
			return change, err
		}
		change.Timing = &timing
	}
	if given("election") {
		if err := api.CheckElection(f.election); err != nil {
			return change, wrong("--election "+api.ElectionPlain, "%v", err) // not wrapped: its hint is one for the operator
		}
		change.Election = &f.election
	}
	if given("identity") {
		if !slices.Contains(api.Identities(), f.identity) {
			return change, wrong("--identity "+api.IdentityPod, "--identity %s: want %s", f.identity, strings.Join(api.Identities(), " or "))
		}
		change.Identity = &f.identity
	}
	if given("release-on-cancel") {
		release, err := strconv.ParseBool(f.release)
		if err != nil {
			return change, wrong("--release-on-cancel=true", "--release-on-cancel %s: want true or false", f.release)
		}
		change.ReleaseOnCancel = &release
	}
	return change, nil
}

// errNothing is the usage error of a change that changes nothing.
var errNothing = errors.New("nothing to set: give one or more of --timing, --identity, --release-on-cancel, --election")

// meanings says in one sentence what a value of a setting does.
var meanings = map[[2]string]string{
	{replica.SettingElection, api.ElectionPlain}:   "leader election as the course writes it, and nothing around it",
	{replica.SettingIdentity, api.IdentityPod}:     "a restarted container is the same candidate and takes its own Lease back; no transition tells of the crash",
	{replica.SettingIdentity, api.IdentityPodUUID}: "each process is a candidate of its own: a restarted container is a newcomer and can't take its own Lease back, so a crash waits for expiry",
	{replica.SettingReleaseOnCancel, "true"}:       "a replica that is asked to stop gives the Lease up, and a candidate takes it at its next poll",
	{replica.SettingReleaseOnCancel, "false"}:      "a replica that is asked to stop keeps the Lease: a graceful delete looks like a crash to the others",
}

// meaning is the sentence for a setting's new value.
func meaning(d replica.Difference) string {
	if d.Name == replica.SettingTiming {
		return "a Lease that was not released is taken LeaseDuration after a candidate last saw it change; candidates poll every RetryPeriod·(1 … 2.2)"
	}
	return meanings[[2]string{d.Name, d.New}]
}
