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
	timing, election, identity, release, loss, version string
	guards                                             [4]string // in the order of api.Guards.Each
}

func (f *settingFlags) define(c *cobra.Command, when string) {
	c.Flags().StringVar(&f.timing, "timing", "", "durations"+when+": default (15/10/2), fast (5/3/1) or three numbers of seconds")
	c.Flags().StringVar(&f.identity, "identity", "", "name of a candidate"+when+": pod, the pod's; pod+uuid, a new one for each process")
	c.Flags().StringVar(&f.release, "release-on-cancel", "", "whether a replica that is asked to stop gives the Lease up"+when+": true or false")
	c.Flags().StringVar(&f.election, "election", "", "how leaders are elected"+when+": "+strings.Join(api.Elections(), " or "))
	c.Flags().StringVar(&f.loss, api.FlagOnLoss, "", "what a guarded replica does when it loses the Lease"+when+": "+strings.Join(api.Losses(), " or "))
	c.Flags().StringVar(&f.version, api.FlagBinaryVersion, "", "version that a replica says of itself"+when+", for the coordinated election: three numbers, 1.37.0")
	for i, g := range new(api.Guards).Each() {
		c.Flags().StringVar(&f.guards[i], g.Flag, "", "a protection of the guarded election"+when+", true or false: "+guardMeanings[i])
	}
}

// guardMeanings says what each protection does, in the order of api.Guards.Each.
var guardMeanings = [4]string{
	"a client of its own for the Lease, with a time-out",
	"work ends a RenewDeadline after the last renewal was sent, and when another holder is read",
	"the Lease is given back after the work has stopped, never over another holder",
	"a write is refused where a later leader has written",
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
	if given(api.FlagOnLoss) {
		if !slices.Contains(api.Losses(), f.loss) {
			return change, wrong("--on-loss "+api.OnLossExit, "--on-loss %s: want %s", f.loss, strings.Join(api.Losses(), " or "))
		}
		change.OnLoss = &f.loss
	}
	if given(api.FlagBinaryVersion) {
		if err := api.CheckVersion(api.FlagBinaryVersion, f.version); err != nil {
			return change, wrong("--"+api.FlagBinaryVersion+" 1.37.0", "%v", err)
		}
		change.BinaryVersion = &f.version
	}
	for i, g := range new(api.Guards).Each() {
		if !given(g.Flag) {
			continue
		}
		on, err := strconv.ParseBool(f.guards[i])
		if err != nil {
			return change, wrong("--"+g.Flag+"=true", "--%s %s: want true or false", g.Flag, f.guards[i])
		}
		change.Guards[i] = &on
	}
	return change, nil
}

// errNothing is the usage error of a change that changes nothing.
var errNothing = errors.New("nothing to set: give one or more of --timing, --identity, --release-on-cancel, --election, --on-loss, --binary-version, --guard-…")

// meanings says in one sentence what a value of a setting does.
var meanings = map[[2]string]string{
	{replica.SettingElection, api.ElectionPlain}:       "leader election as the course writes it, and nothing around it",
	{replica.SettingElection, api.ElectionGuarded}:     "the same elector with a protection around each of its weak points; each can be turned off (--guard-…)",
	{replica.SettingElection, api.ElectionCoordinated}: "the API server elects: the oldest version that is there leads, and leaseTransitions counts nothing",
	{replica.SettingOnLoss, api.OnLossExit}:            "a replica that loses the Lease exits, and its container is restarted",
	{replica.SettingOnLoss, api.OnLossRejoin}:          "a replica that loses the Lease stops its work, goes on serving and contends again in the same process",
	{replica.SettingIdentity, api.IdentityPod}:         "a restarted container is the same candidate and takes its own Lease back; no transition tells of the crash",
	{replica.SettingIdentity, api.IdentityPodUUID}:     "each process is a candidate of its own: a restarted container is a newcomer and can't take its own Lease back, so a crash waits for expiry",
	{replica.SettingReleaseOnCancel, "true"}:           "a replica that is asked to stop gives the Lease up, and a candidate takes it at its next poll",
	{replica.SettingReleaseOnCancel, "false"}:          "a replica that is asked to stop keeps the Lease: a graceful delete looks like a crash to the others",
}

// meaning is the sentence for a setting's new value.
func meaning(d replica.Difference) string {
	if d.Name == replica.SettingBinaryVersion {
		return "what each replica says of itself; where the API server elects, the oldest version that is there leads, and other elections ignore it"
	}
	if d.Name == replica.SettingTiming {
		return "a Lease that was not released is taken LeaseDuration after a candidate last saw it change; candidates poll every RetryPeriod·(1 … 2.2)"
	}
	for i, g := range new(api.Guards).Each() {
		if g.Flag == d.Name {
			return map[string]string{"true": "on: ", "false": "off, and no longer so: "}[d.New] + guardMeanings[i]
		}
	}
	return meanings[[2]string{d.Name, d.New}]
}
