package cmd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

type mutantsFlags struct {
	all           bool
	lanes, trials int
	binary, image string
	seed          uint64
	runsDir       string
}

func (a *app) mutantsCommand() *cobra.Command {
	var f mutantsFlags
	c := &cobra.Command{
		Use:   "mutants [NAME…]",
		Short: "Try the checks on faulty operators, and on your own",
		Long: "mutants runs operators that have a fault, each from a public report, in namespaces of their own, does what exposes the fault,\n" +
			"and stops at the first trial in which a check notices, of at most " + fmt.Sprint(mutant.Limit) + ". The operator as it is goes through all the same beside\n" +
			"them and must raise no alarm. With --operator-binary or --operator-image your own operator goes through it in their place: see\n" +
			"docs/mutants.md for what it must take and log.\n\nMutants:\n" + mutantsHelp(),
		Example:           "  labctl mutants works-on\n  labctl mutants --all\n  labctl mutants --operator-binary ./my-operator",
		ValidArgsFunction: cobra.FixedCompletions(mutantNames(), cobra.ShellCompDirectiveNoFileComp),
		Args:              cobra.ArbitraryArgs,
		RunE:              func(c *cobra.Command, args []string) error { return a.mutants(c, f, args) },
	}
	c.Flags().BoolVar(&f.all, "all", false, "every mutant")
	c.Flags().IntVar(&f.lanes, "lanes", 4, fmt.Sprintf("1 to %d that are tried side by side", maxLanes))
	c.Flags().IntVar(&f.trials, "reference-trials", 2, "how often the reference, or your own operator, is tried in each way; your own more often where a fault does not show each time")
	c.Flags().StringVar(&f.binary, "operator-binary", "", "on embedded: the program of your own operator, which takes the flags of academy-operator and logs as it does")
	c.Flags().StringVar(&f.image, "operator-image", "", "on kind: the image of your own operator")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the random phases; 0 draws one")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder for the records, of which there is one for each operator")
	return c
}

func mutantNames() []string {
	var names []string
	for _, m := range mutant.All() {
		names = append(names, m.Name)
	}
	return names
}

func mutantsHelp() string {
	text := ""
	for _, m := range mutant.All() {
		text += fmt.Sprintf("  %-20s %s\n", m.Name, m.Fault)
	}
	return text
}

// subjects reads the flags and the names.
func (f mutantsFlags) subjects(c *cobra.Command, names []string) ([]lab.Subject, error) {
	usage := func(format string, args ...any) ([]lab.Subject, error) {
		return nil, usageError{command: c.CommandPath(), err: fmt.Errorf(format, args...)}
	}
	var chosen []mutant.Mutant
	for _, name := range names {
		m, known := mutant.ByName(name)
		if !known {
			return usage("there is no mutant %q", name)
		}
		chosen = append(chosen, m)
	}
	own := f.binary != "" || f.image != ""
	switch {
	case f.all && len(names) > 0:
		return usage("--all means every mutant; it can't be joined with names")
	case !f.all && len(names) == 0 && !own:
		return usage("which mutants? Name some, or all with --all")
	case f.lanes < 1 || f.lanes > maxLanes:
		return usage("--lanes %d is not between 1 and %d", f.lanes, maxLanes)
	case f.trials < 1 || f.trials > maxTrials:
		return usage("--reference-trials %d is not between 1 and %d", f.trials, maxTrials)
	case f.binary != "" && f.image != "":
		return usage("--operator-binary and --operator-image are two ways to name one operator")
	}
	if len(chosen) == 0 {
		chosen = mutant.All()
	}
	program, err := f.program()
	if err != nil {
		return nil, err
	}
	var all []lab.Subject
	if !own {
		patches, err := mutantProgram(c.Context())
		if err != nil {
			return nil, err
		}
		for _, m := range chosen {
			s := lab.Subject{Mutant: m, Trials: m.AtMost(mutant.Limit), Wrong: true}
			if m.Patched {
				s.Program = patches
			}
			all = append(all, s)
		}
	}
	name := mutant.Reference
	if own {
		name = ownName
	}
	for _, m := range mutant.References(name, chosen) {
		trials := f.trials
		if own {
			trials = max(trials, m.Needs)
		}
		all = append(all, lab.Subject{Mutant: m, Trials: m.AtMost(trials), Program: program, Image: f.image})
	}
	return all, nil
}

// ownName stands in the place of mutant.Reference for an operator of one's own.
const ownName = "own"

// program is the path of one's own operator, which must be a program.
func (f mutantsFlags) program() (string, error) {
	if f.binary == "" {
		return "", nil
	}
	wrong := func(err error) (string, error) {
		return "", &provider.Problem{Err: fmt.Errorf("--operator-binary %s: %w", f.binary, err), Hint: "go build -o my-operator . && labctl mutants --operator-binary ./my-operator"}
	}
	path, err := filepath.Abs(f.binary)
	if err != nil {
		return wrong(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return wrong(errors.Unwrap(err))
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return wrong(errors.New("it is not a program"))
	}
	return path, nil
}

// mutantProgram finds academy-mutants beside labctl, and sees that it runs and has every fault.
func mutantProgram(ctx context.Context) (string, error) {
	dir, err := provider.ProgramDir("")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, api.MutantProgram)
	if _, err := os.Stat(path); err != nil {
		return "", &provider.Problem{Err: fmt.Errorf("%s is not beside labctl, in %s", api.MutantProgram, dir), Hint: "make build"}
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "--"+api.FlagMutant+"=").CombinedOutput() // which it refuses, and names those that it has
	if code := (*exec.ExitError)(nil); err != nil && !errors.As(err, &code) {
		return "", &provider.Problem{Err: fmt.Errorf("%s does not run: %w", path, err), Hint: "make build"}
	}
	if want := strings.Join(api.Mutants(), ", "); !strings.Contains(string(said), want) {
		return "", &provider.Problem{Err: fmt.Errorf("%s is not the program of faulty operators that belongs to this labctl: it does not name their faults", path), Hint: "make build"}
	}
	return path, nil
}

// probeLimit bounds how long a program may take to refuse what it is given.
const probeLimit = 10 * time.Second

// records makes the folder of the records, before anything else is made.
func (f mutantsFlags) records() (string, error) {
	dir := f.runsDir
	if dir == "" {
		runs, err := lab.RunsDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(filepath.Dir(runs), "mutants", time.Now().Format("20060102-150405"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &provider.Problem{Err: fmt.Errorf("make the folder of the records: %w", err), Hint: "labctl mutants --all --runs-dir $(mktemp -d)"}
	}
	return dir, nil
}

func (a *app) mutants(c *cobra.Command, f mutantsFlags, names []string) error {
	subjects, err := f.subjects(c, names)
	if err != nil {
		return err
	}
	if f.seed == 0 {
		f.seed = rand.Uint64()
	}
	dir, err := f.records()
	if err != nil {
		return err
	}
	a.left = "labctl status"
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(c.Context(), show.Say)
	if err != nil {
		show.Stop()
		return err
	}
	if err := runsPrograms(l.Cluster.Provider, f, subjects); err != nil {
		return err
	}
	begun := time.Now()
	n := 0
	tried, err := l.Mutants(c.Context(), lab.MutantOptions{Subjects: subjects, Lanes: f.lanes, Manifests: manifests.FS, Seed: f.seed, Dir: dir, Version: provider.Version(),
		OnTried: func(t lab.Tried) {
			n++
			show.Line(fmt.Sprintf("%d of %d: %s", n, len(subjects), triedLine(t)))
		}})
	show.Stop()
	if err != nil && (c.Context().Err() == nil || n == 0) {
		return err
	}
	interrupted := err
	result := mutantsResult{Schema: report.Schema, Kind: "Mutants", Provider: l.Cluster.Provider, Lanes: f.lanes, Seed: f.seed, Seconds: time.Since(begun).Seconds(),
		Mutants: []mutantLine{}, References: []mutantLine{}, program: f.binary}
	result.take(tried)
	if a.json {
		err = report.JSON(a.streams.Out, result)
	} else {
		err = a.printMutants(result, dir)
	}
	if interrupted != nil {
		return interrupted
	}
	return errors.Join(err, exitFor(result.Verdict))
}

// runsPrograms refuses what the nodes can't run.
func runsPrograms(on string, f mutantsFlags, subjects []lab.Subject) error {
	local := on == "embedded"
	switch {
	case local && f.image != "":
		return &provider.Problem{Err: errors.New("the embedded node runs local programs, and pulls no image"), Hint: "labctl mutants --operator-binary PATH"}
	case !local && slices.ContainsFunc(subjects, func(s lab.Subject) bool { return s.Program != "" }):
		return &provider.Problem{Err: fmt.Errorf("on %s nodes run containers, and no local programs: of the mutants only those can be tried that are switches of the operator", on),
			Hint: "labctl mutants " + strings.Join(switchedNames(), " ")}
	}
	return nil
}

func switchedNames() []string {
	var names []string
	for _, m := range mutant.All() {
		if !m.Patched {
			names = append(names, m.Name)
		}
	}
	return names
}

func triedLine(t lab.Tried) string {
	who := fmt.Sprintf("%s, %s: ", t.Subject.Name, t.Subject.Mode)
	switch {
	case t.Err != nil:
		return who + "not tried to the end: " + t.Err.Error()
	case t.Caught != nil:
		return fmt.Sprintf("%scaught in trial %d: %s", who, t.Trials, t.Caught.Reason)
	case t.Subject.Wrong:
		return who + "not caught in " + counted(t.Trials, "trial") + notCounted(t.Void, t.Unseen, t.Missed)
	default:
		return who + counted(len(t.Alarms), "alarm") + " in " + counted(t.Trials, "trial") + notCounted(t.Void, t.Unseen, t.Missed)
	}
}
