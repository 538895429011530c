// Package check owns the verdicts: rules over finished trials, each with the reason in words.
package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// Verdict is the outcome of a rule. What was not observed is Unknown, never Fail.
type Verdict string

// The three verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Check is one rule's verdict over all trials of a run.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	// Hint is a command that helps with a verdict other than Pass; empty if there is none.
	Hint string `json:"hint,omitempty"`
}

// Case is a trial and what the model says of it.
type Case struct {
	Trial timeline.Trial
	Input gap.Input
	// Foreign is whether the operator is not the lab's: what it should do is not known, and its work is not seen.
	Foreign bool
}

// rule judges one case: the reason is given for every verdict but Pass.
type rule struct {
	name  string
	claim string
	judge func(Case) (Verdict, string)
	// concerns leaves out the trials that the rule says nothing of, and of are the others in words; nil and empty for all.
	concerns func(Case) bool
	of       string
}

func rules() []rule {
	return []rule{
		{name: Undisturbed, claim: "nothing but the fault decided, and all of it was seen", judge: notVoid},
		{name: Configuration, claim: "the Lease and its renewals are those of the configured durations", judge: configured, concerns: ours},
		{name: "class-expected", claim: "the Lease changed hands as the mode leads to", judge: classExpected, concerns: ours},
		{name: GapInBand, claim: "the lock gap lies in the predicted range", judge: gapInBand},
		{name: Overlap, claim: "no two leaders worked at the same time", judge: overlapNone, concerns: overlapSeen},
		{name: "older-leads", claim: "no newer version held the Lease while an older one was there", judge: olderLeads, concerns: coordinatedUpgrade, of: " that were upgrades"},
		{name: "transitions", claim: "leaseTransitions rose by one for each hand-over", judge: transitions, concerns: contended},
		{name: "transitions", claim: "leaseTransitions stayed as it was: where the API server elects, nobody counts", judge: transitions, concerns: elected},
		{name: "terms-add-up", claim: "the requests on the Lease explain the lock gap", judge: termsAddUp, concerns: hasTerms, of: " whose requests were logged"},
	}
}

// Run judges every rule over all cases. A rule that concerns none of them is left out.
func Run(cases []Case) []Check {
	var checks []Check
	for _, r := range rules() {
		if r.concerns == nil || slices.ContainsFunc(cases, r.concerns) {
			checks = append(checks, r.over(cases))
		}
	}
	return append(checks, distributions(cases)...)
}

// Only is Run with the rules of these names alone.
func Only(cases []Case, names ...string) []Check {
	return slices.DeleteFunc(Run(cases), func(c Check) bool { return !slices.Contains(names, c.Name) })
}

// Overall is Fail if any check failed, else Unknown if any is, else Pass. No check at all is Unknown.
func Overall(checks []Check) Verdict {
	overall := Pass
	if len(checks) == 0 {
		overall = Unknown
	}
	for _, c := range checks {
		overall = overall.And(c.Verdict)
	}
	return overall
}

// And is the verdict over both: Fail if either is, else Unknown if either is.
func (v Verdict) And(other Verdict) Verdict {
	switch {
	case v == Fail || other == Fail:
		return Fail
	case v == Unknown || other == Unknown:
		return Unknown
	default:
		return Pass
	}
}

func (r rule) over(cases []Case) Check {
	out := Check{Name: r.name, Verdict: Pass}
	var reasons []string
	counted := 0
	for i, c := range cases {
		if r.concerns != nil && !r.concerns(c) || c.Trial.Void != "" && r.name != Undisturbed {
			continue // a void trial passes nothing, and the first rule tells of it
		}
		counted++
		verdict, reason := r.judge(c)
		if verdict == Pass {
			continue
		}
		if verdict == Fail || out.Verdict == Pass {
			out.Verdict = verdict
		}
		reasons = append(reasons, fmt.Sprintf("trial %d (%s): %s", i+1, c.Trial.Mode, reason))
	}
	switch {
	case len(cases) == 0:
		out.Verdict, out.Reason = Unknown, "no trial was measured"
	case counted == 0:
		out.Verdict, out.Reason = Unknown, NoneCounts
	case out.Verdict == Pass:
		out.Reason = fmt.Sprintf("%s, in %d of %d trials%s", r.claim, counted, counted, r.of)
	default:
		if more := len(reasons) - mostReasons; more > 0 {
			reasons = append(reasons[:mostReasons:mostReasons], fmt.Sprintf("and %d more trials", more))
		}
		out.Reason = strings.Join(reasons, "; ")
	}
	return out
}

// mostReasons is how many trials are told one by one.
const mostReasons = 8

// Undisturbed is the name of the rule that void trials do not pass, and NoneCounts the reason of the others if all are void.
const (
	Undisturbed = "undisturbed"
	NoneCounts  = "no trial counts"

	Configuration = "configuration"
	GapInBand     = "gap-in-band"
	Overlap       = "overlap-none"
)

func notVoid(c Case) (Verdict, string) {
	if c.Trial.Void != "" {
		return Unknown, c.Trial.Void
	}
	return Pass, ""
}

func ours(c Case) bool { return !c.Foreign }

// overlapSeen leaves out an operator whose work is not seen: of one that is not the lab's it is, if it writes it down as the lab's does.
func overlapSeen(c Case) bool { return !c.Foreign || c.Trial.OverlapSeconds != nil }

func classExpected(c Case) (Verdict, string) {
	want := c.Input.Class()
	switch {
	case c.Trial.Class == timeline.Unknown:
		return Unknown, c.Trial.Void
	case !c.Input.Accepts(c.Trial.Class):
		reason := fmt.Sprintf("class %s, expected %s", c.Trial.Class, want)
		if len(c.Trial.Errors) > 0 {
			reason += "; what went wrong: " + c.Trial.Errors[0]
		}
		return Fail, reason
	default:
		return Pass, ""
	}
}

// gapInBand compares with the band of the class that was seen, so that one surprise is reported once.
func gapInBand(c Case) (Verdict, string) {
	if c.Trial.LockGapSeconds == nil {
		return Unknown, "the lock gap was not seen"
	}
	if class := c.Trial.Class; class == timeline.Unknown || (class == timeline.Stolen || class == timeline.Deleted) && class != c.Input.Class() {
		return Unknown, fmt.Sprintf("there is no prediction for class %s", class)
	}
	if _, err := gap.Predict(c.Input); err != nil { // of a record that was edited: labctl does nothing that it can't predict
		return Unknown, err.Error()
	}
	p := gap.Range(c.Input, c.Trial.Class)
	if !p.Holds(*c.Trial.LockGapSeconds) {
		return Fail, fmt.Sprintf("%.2f s is outside of %.1f … %.1f s (tolerances −%.1f and +%.1f s)",
			*c.Trial.LockGapSeconds, p.MinSeconds, p.MaxSeconds, gap.EarlySeconds, gap.LateSeconds)
	}
	return Pass, ""
}

func overlapNone(c Case) (Verdict, string) {
	switch {
	case c.Trial.OverlapSeconds == nil:
		return Unknown, "the work of both leaders was not seen"
	case *c.Trial.OverlapSeconds > 0:
		return Fail, "two leaders worked for " + c.Trial.Overlapped()
	default:
		return Pass, ""
	}
}

func transitions(c Case) (Verdict, string) {
	if c.Trial.TransitionsAfter == nil {
		return Unknown, "no new holder was seen"
	}
	rise, fromZero := c.Input.Transitions(c.Trial.Class, c.Trial.Winner)
	want := c.Trial.TransitionsBefore + rise
	if fromZero {
		want = 0
	}
	if got := *c.Trial.TransitionsAfter; got != want {
		return Fail, fmt.Sprintf("leaseTransitions went from %d to %d, expected %d", c.Trial.TransitionsBefore, got, want)
	}
	return Pass, ""
}

func elected(c Case) bool { return c.Input.Coordinated }

func contended(c Case) bool { return !c.Input.Coordinated }

func coordinatedUpgrade(c Case) bool { return c.Input.Coordinated && c.Input.Mode == fault.Upgrade }

// olderLeads is what the coordinated election is for. An upgrade in which no older replica was left to elect tells nothing.
func olderLeads(c Case) (Verdict, string) {
	switch u := c.Trial.Upgrade; {
	case u == nil:
		return Unknown, "which versions were there was not seen"
	case u.NewerLedSeconds > 0:
		return Fail, fmt.Sprintf("version %s held the Lease for %.2f s while version %s was there", u.To, u.NewerLedSeconds, u.From)
	case !u.Contested:
		return Unknown, fmt.Sprintf("no replica of version %s was left when the Lease came to its next holder", u.From)
	default:
		return Pass, ""
	}
}

func hasTerms(c Case) bool { return c.Trial.Void == "" && c.Trial.Terms != nil }

// termsAddUp holds the model against the requests: nothing but the takeover's own requests is left, and the poll that took
// the Lease came within one pause.
func termsAddUp(c Case) (Verdict, string) {
	terms, longest := c.Trial.Terms, gap.LongestPause*c.Input.Timing.RetryPeriod.Seconds()
	if c.Trial.Class == timeline.Released && c.Trial.Winner == timeline.Replacement {
		longest = max(longest, c.Input.ReplacementStart) // its first poll follows no pause, but its start
	}
	tolerance := gap.LateSeconds // and as much as the gap itself is uncertain
	if c.Trial.UncertaintySeconds != nil {
		tolerance += *c.Trial.UncertaintySeconds
	}
	switch {
	case math.Abs(terms.ResidualSeconds) > tolerance:
		return Fail, fmt.Sprintf("%.2f s of the lock gap are not explained by the requests (tolerance ±%.1f s)", terms.ResidualSeconds, tolerance)
	case terms.PollPhaseSeconds < 0 || terms.PollPhaseSeconds > longest+gap.LateSeconds:
		return Fail, fmt.Sprintf("the poll that took the Lease came %.2f s after it was free, outside of 0 … %.1f s (tolerance +%.1f s)",
			terms.PollPhaseSeconds, longest, gap.LateSeconds)
	default:
		return Pass, ""
	}
}

// RuleOfThree says what no event in n trials bounds, as a clause to append: at 95 % confidence the rate is below 3/n. It is
// empty for fewer than ten.
func RuleOfThree(n int) string {
	if n < 10 {
		return ""
	}
	return fmt.Sprintf(" (none in %d: at 95 %% confidence less than %.2g %% of trials)", n, 300/float64(n))
}
