package report

import (
	"bytes"
	"cmp"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

//go:embed html.tmpl
var htmlPage string

//go:embed html.css
var htmlStyle string

// About is what is recorded of a run beside its header: what was asked for, when, and with which labctl.
type About struct {
	Name       string // of the run's folder
	Modes      []string
	TrialsEach int
	Lanes      int
	Seed       uint64
	StartedAt  time.Time
	Labctl     string // its version
	Lab        string
	// Again is the command that plays a run in virtual time again; empty for a measured one.
	Again string
	// Simulated are drawn beside what was measured; there may be none.
	Simulated []Simulated
}

// visible returns it with every text made visible.
func (a About) visible() About {
	for _, text := range []*string{&a.Name, &a.Labctl, &a.Lab, &a.Again} {
		*text = timeline.Visible(*text)
	}
	a.Modes = slices.Clone(a.Modes)
	for i, mode := range a.Modes {
		a.Modes[i] = timeline.Visible(mode)
	}
	return a
}

// HTML writes the run as one page that needs nothing else: its style and pictures are in it, it has no script, and each
// picture has a text and a table that say the same. Nothing is written if anything goes wrong.
func HTML(out io.Writer, f Failover, about About, events []timeline.Event) error {
	parsed, err := template.New("page").Parse(htmlPage)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, newPage(f.visible(), about.visible(), events)); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// page is what the template is filled with. All texts in it are visible, and html/template escapes them.
type page struct {
	Style    template.CSS
	Name     string
	Subject  string
	Verdict  check.Verdict
	Count    string
	Foreign  bool
	Cut      string // how a run ended early; empty for a whole one
	Answers  []answer
	Allows   string // what a gap outside of its predicted range is allowed, if there is one
	Strip    *figure
	Facts    []fact
	Spreads  []*figure
	Trials   []trialPart
	Checks   []check.Check
	Void     string
	Commands []command
	Words    []word
}

// fact is one line of what ran.
type fact struct{ Name, Value, Flag string }

func newPage(f Failover, about About, events []timeline.Event) page {
	groups := byMode(f.Trials)
	p := page{
		Style: template.CSS(htmlStyle), Name: about.Name, Subject: subject(f.Header), Verdict: f.Verdict, Count: group{trials: f.Trials}.count(), // the style is this package's own
		Foreign: f.Foreign, Cut: cutShort(f), Allows: allowance(f), Facts: facts(f, about), Void: uncounted(f.Trials), Commands: commands(f, about), Words: glossary(),
	}
	for _, g := range groups {
		p.Answers = append(p.Answers, newAnswer(g, f))
	}
	p.Strip = strip(groups, f)
	p.Spreads = spreads(f, about.Simulated)
	p.Trials = trialParts(f, events)
	for _, c := range f.Checks {
		c.Name, c.Hint = timeline.Visible(c.Name), timeline.Visible(c.Hint)
		p.Checks = append(p.Checks, c)
	}
	return p
}

// cutShort says that a run ended early, and why.
func cutShort(f Failover) string {
	if f.Cut == "" {
		return ""
	}
	return fmt.Sprintf("the run ended after %d of %d trials: %s", f.N, f.Requested, f.Cut)
}

// facts are the configuration and the versions. What the record does not hold is said to be not recorded.
func facts(f Failover, about About) []fact {
	operator, lease := "academy-operator", "not recorded"
	if f.Operator != "" {
		operator = f.Operator
	}
	if f.Lease != "" {
		lease = f.Lease
	}
	flag := func(name string) string {
		if f.Foreign {
			return ""
		}
		return "--" + name
	}
	renew := "not known"
	if f.Timing.RenewDeadline > 0 {
		renew = f.Timing.RenewDeadline.String()
	}
	started := "not recorded"
	if !about.StartedAt.IsZero() {
		started = about.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	start := fmt.Sprintf("%g s", f.PodStartLatencySeconds)
	if f.Virtual() {
		started, start = started+", in virtual time", "there are no pods"
	}
	facts := []fact{
		{"LeaseDuration", f.Timing.LeaseDuration.String(), flag(api.FlagLeaseDuration)},
		{"RenewDeadline", renew, flag(api.FlagRenewDeadline)},
		{"RetryPeriod", f.Timing.RetryPeriod.String(), flag(api.FlagRetryPeriod)},
		{"election", known(string(f.Election)), flag(api.FlagElection)},
		{"identity", known(string(f.Identity)), flag(api.FlagIdentity)},
		{"ReleaseOnCancel", yes(f.ReleaseOnCancel), flag(api.FlagReleaseOnCancel)},
		{"operator", operator, ""},
		{"Lease", lease, ""},
		{"provider", known(f.Provider), ""},
		{"pod start latency", start, ""},
		{"Kubernetes", cmp.Or(f.Kubernetes, "not recorded"), ""},
		{"labctl", known(about.Labctl), ""},
		{"the model was read in", modelSource(), ""},
		{"lab", known(about.Lab), ""},
		{"modes, trials of each, lanes", fmt.Sprintf("%s; %d; %d", list(about.Modes), about.TrialsEach, about.Lanes), ""},
		{"seed of the phases", fmt.Sprintf("%d", about.Seed), ""},
		{"began at", started, ""},
		{"took", took(f.Trials, about), ""},
	}
	if f.Guards != nil {
		facts = slices.Insert(facts, 6, fact{"on loss", known(string(f.OnLoss)), flag(api.FlagOnLoss)}, fact{"guards", f.Guards.String(), flag("guard-…")})
	}
	return facts
}

func known(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}
