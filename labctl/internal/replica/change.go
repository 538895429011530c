package replica

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"academy.example/lab/operator/api"
)

// Change is what is to be different in the operator's settings; nil leaves a setting as it is.
type Change struct {
	Timing          *api.Timing
	Election        *string
	Identity        *string
	ReleaseOnCancel *bool
	OnLoss          *string
	BinaryVersion   *string
	Guards          [guards]*bool // in the order of api.Guards.Each
}

// guards is how many protections the guarded election has.
const guards = 4

// On returns the settings with the change made.
func (c Change) On(s Settings) Settings {
	take(&s.Timing, c.Timing)
	take(&s.Election, c.Election)
	take(&s.Identity, c.Identity)
	take(&s.ReleaseOnCancel, c.ReleaseOnCancel)
	take(&s.OnLoss, c.OnLoss)
	take(&s.BinaryVersion, c.BinaryVersion)
	for i, g := range s.Guards.Each() {
		take(g.On, c.Guards[i])
	}
	if c.Election != nil && *c.Election != api.ElectionGuarded && c.OnLoss == nil {
		s.OnLoss = api.OnLossExit // it knows no other
	}
	return s
}

// In returns the state with the change made, for replicas that are yet to be made like it.
func (c Change) In(s State) State {
	after := c.On(s.Settings)
	s.Args, s.Settings = rewrite(s.Args, s.Settings, after), after
	return s
}

func take[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Names of settings, as JSON spells them.
const (
	SettingTiming          = "timing"
	SettingElection        = "election"
	SettingIdentity        = "identity"
	SettingReleaseOnCancel = "releaseOnCancel"
	SettingOnLoss          = "onLoss"
	SettingBinaryVersion   = "binaryVersion"
)

// Difference is a setting that has another value in other settings.
type Difference struct {
	Name     string
	Flag     string // of labctl, without the dashes
	Old, New string
}

// Differences lists what is different in other settings.
func (s Settings) Differences(other Settings) []Difference {
	candidates := []Difference{
		{SettingTiming, "timing", s.Timing.String(), other.Timing.String()},
		{SettingElection, "election", s.Election, other.Election},
		{SettingIdentity, "identity", s.Identity, other.Identity},
		{SettingReleaseOnCancel, "release-on-cancel", strconv.FormatBool(s.ReleaseOnCancel), strconv.FormatBool(other.ReleaseOnCancel)},
		{SettingOnLoss, api.FlagOnLoss, s.OnLoss, other.OnLoss},
		{SettingBinaryVersion, api.FlagBinaryVersion, s.BinaryVersion, other.BinaryVersion},
	}
	for i, g := range s.Guards.Each() { // a flag's name is the setting's as well
		candidates = append(candidates, Difference{g.Flag, g.Flag, strconv.FormatBool(*g.On), strconv.FormatBool(*other.Guards.Each()[i].On)})
	}
	var all []Difference
	for _, d := range candidates {
		if d.Old != d.New {
			all = append(all, d)
		}
	}
	return all
}

// Changed is a change that was made.
type Changed struct {
	Before, After Settings
	Differences   []Difference // none if nothing was written
	Patch         string       // of the Deployment, a strategic merge; empty if nothing was written
	Back          string       // the command that undoes it
}

// String tells the change in a few words: "timing 15/10/2 → 5/3/1, identity pod → pod+uuid".
func (c Changed) String() string {
	var parts []string
	for _, d := range c.Differences {
		parts = append(parts, fmt.Sprintf("%s %s → %s", d.Name, d.Old, d.New))
	}
	return strings.Join(parts, ", ")
}

// Values tells the new values: "timing 5/3/1, identity pod+uuid".
func Values(differences []Difference) string {
	var parts []string
	for _, d := range differences {
		parts = append(parts, d.Name+" "+d.New)
	}
	return strings.Join(parts, ", ")
}

// Undo is the command that gives each setting its old value.
func Undo(differences []Difference) string {
	command := "labctl operator set"
	for _, d := range differences {
		command += " --" + d.Flag + "=" + d.Old
	}
	return command
}

// settable reports whether labctl would set these values: the Deployment may have been given others by hand.
func (s Settings) settable() bool {
	return s.Timing.Validate() == nil && api.CheckElection(s.Election) == nil && api.CheckLoss(s.Election, s.OnLoss) == nil && api.CheckVersion(api.FlagBinaryVersion, s.BinaryVersion) == nil && slices.Contains(api.Identities(), s.Identity)
}

// flagValue is an argument that settings are written in.
type flagValue struct{ flag, value string }

// flagValues is how the operator is told the settings that a Change may change.
func (s Settings) flagValues() []flagValue {
	all := []flagValue{
		{api.FlagLeaseDuration, s.Timing.LeaseDuration.String()},
		{api.FlagRenewDeadline, s.Timing.RenewDeadline.String()},
		{api.FlagRetryPeriod, s.Timing.RetryPeriod.String()},
		{api.FlagElection, s.Election},
		{api.FlagIdentity, s.Identity},
		{api.FlagReleaseOnCancel, strconv.FormatBool(s.ReleaseOnCancel)},
		{api.FlagOnLoss, s.OnLoss},
		{api.FlagBinaryVersion, s.BinaryVersion},
	}
	for _, g := range s.Guards.Each() {
		all = append(all, flagValue{g.Flag, strconv.FormatBool(*g.On)})
	}
	return all
}

// rewrite returns the arguments that lead from one settings to the others.
func rewrite(args []string, from, to Settings) []string {
	old := from.flagValues()
	for i, f := range to.flagValues() {
		if f != old[i] {
			args = setArg(args, f.flag, f.value)
		}
	}
	return args
}

// patchArgs is a strategic merge patch: it finds the container by its name, and leaves all else of it alone.
func patchArgs(args []string) (string, error) {
	list, err := json.Marshal(args)
	if err != nil {
		return "", fmt.Errorf("write the operator's arguments: %w", err)
	}
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":%q,"args":%s}]}}}}`, api.ContainerName, list), nil
}

// patchPaced is patchArgs, and lets each new replica be ready for a while before the next one is replaced.
func patchPaced(args []string, pace time.Duration) (string, error) {
	patch, err := patchArgs(args)
	return strings.Replace(patch, `{"spec":{`, fmt.Sprintf(`{"spec":{"minReadySeconds":%d,`, int(math.Ceil(pace.Seconds()))), 1), err
}
