package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/checklists"
	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist"
	"academy.example/lab/labctl/internal/evidence"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/whole"
)

func (a *app) evidenceCommand() *cobra.Command {
	var k course
	c := &cobra.Command{
		Use:   "evidence",
		Short: "Pack what was measured and answered into one archive; verify and summarise archives",
		Long: "evidence packs the recorded runs, answers and checklists into one archive, verifies archives without a lab by measuring and\n" +
			"judging everything again, and puts those of a class side by side. What it can't notice is in docs/security.md.",
		Example: "  labctl evidence export\n  labctl evidence verify evidence.tar.gz\n  labctl evidence summary *.tar.gz --class class.json --format html --output class.html",
		Args:    cobra.ArbitraryArgs,
		RunE:    group,

		SuggestionsMinimumDistance: 2,
	}
	c.PersistentFlags().StringVar(&k.dir, "exercises", "", "folder of exercises to use in place of those in the program")
	c.AddCommand(a.evidenceExportCommand(&k), a.evidenceVerifyCommand(&k), a.evidenceSummaryCommand(&k))
	return c
}

// judges is what archives are held against: the exercises and checklists of this labctl.
func (a *app) judges(k *course) (evidence.Course, error) {
	c := evidence.Course{Digests: map[string]string{}, Version: provider.Version()}
	root, err := a.loadExercises(k)
	if err != nil {
		return c, err
	}
	if c.Lists, err = checklist.Load(checklists.FS); err != nil {
		return c, err
	}
	c.Exercises = k.all
	for _, e := range k.all {
		data, err := fs.ReadFile(root, e.Name+"/exercise.yaml")
		if err != nil {
			return c, err
		}
		c.Digests[e.Name] = evidence.Digest(data)
	}
	for _, l := range c.Lists {
		data, err := fs.ReadFile(checklists.FS, l.Name+".yaml")
		if err != nil {
			return c, err
		}
		c.Digests[l.Name] = evidence.Digest(data)
	}
	return c, nil
}

func (a *app) evidenceVerifyCommand(k *course) *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE…",
		Short: "Verify archives: measure every trial and judge every answer again, without a lab",
		Long: "verify reads archives, holds each file against the manifest and its hash chain, measures the trials from the recorded events, holds\n" +
			"trials.json, clocks, phases and numbers against each other, and judges the answers again. Several archives are held against each\n" +
			"other, too.\n\nExit code 0: whole, and without contradiction; 1: something was changed; 2: something can't be told, such as another version.\n" +
			"Whether the answers are right does not matter for it.",
		Example: "  labctl evidence verify evidence-07.tar.gz\n  labctl evidence verify *.tar.gz --json",
		Args:    archives,
		RunE: func(c *cobra.Command, args []string) error {
			_, results, err := a.verified(c.Context(), k, args)
			if err != nil {
				return err
			}
			evidence.Compare(results, nil)
			return a.printVerified(results)
		},
	}
}

// mostArchives keeps a typing error from reading a whole disk.
const mostArchives = 1000

// archives accepts the names of archives.
func archives(c *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") || len(args) > mostArchives {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes the names of 1 to %d archives", c.CommandPath(), mostArchives)}
	}
	return nil
}

// verified reads and verifies archives.
func (a *app) verified(ctx context.Context, k *course, names []string) (evidence.Course, []evidence.Result, error) {
	judges, err := a.judges(k)
	if err != nil {
		return judges, nil, err
	}
	var results []evidence.Result
	paths, shown := archiveNames(names)
	for _, name := range paths {
		if ctx.Err() != nil {
			return judges, nil, ctx.Err()
		}
		file, err := whole.Open(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return judges, nil, &provider.Problem{Err: fmt.Errorf("there is no file %s", name), Hint: "labctl evidence export"}
		case err != nil:
			results = append(results, evidence.Unread(shown[name], reasonOf(err)))
		default:
			results = append(results, evidence.Verify(shown[name], file, judges))
			file.Close()
		}
	}
	return judges, results, nil
}

// archiveNames returns the files in the order they were given, each once, and what to call each: its name, or its path where several
// have that name.
func archiveNames(given []string) (paths []string, shown map[string]string) {
	same := map[string]int{}
	shown = map[string]string{}
	for _, path := range given {
		path = filepath.Clean(path)
		if shown[path] != "" {
			continue
		}
		paths, shown[path] = append(paths, path), filepath.Base(path)
		same[shown[path]]++
	}
	for path, name := range shown {
		if same[name] > 1 {
			shown[path] = path
		}
	}
	return paths, shown
}

// evidenceVerified is what `evidence verify --json` prints.
type evidenceVerified struct {
	Schema   string            `json:"schema"`
	Kind     string            `json:"kind"`
	Archives []evidence.Result `json:"archives"`
	Verdict  check.Verdict     `json:"verdict"`
}

func (a *app) printVerified(results []evidence.Result) error {
	var checks []check.Check
	for _, r := range results {
		checks = append(checks, check.Check{Verdict: r.Verdict})
	}
	verdict := check.Overall(checks)
	if a.json {
		if err := report.JSON(a.streams.Out, evidenceVerified{report.Schema, "EvidenceVerify", results, verdict}); err != nil {
			return err
		}
		return exitFor(verdict)
	}
	for _, r := range results {
		a.printArchive(r)
	}
	next := "labctl evidence summary FILE…"
	if len(results) > 1 {
		next = a.again("")
		next = strings.Replace(next, " verify ", " summary ", 1)
	}
	fmt.Fprintf(a.streams.Out, "verdict: %s (of the archives, not of the answers)\nnext: %s\n", verdict, a.typed(next))
	return exitFor(verdict)
}

func (a *app) printArchive(r evidence.Result) {
	out := a.streams.Out
	fmt.Fprintf(out, "%s:", r.Archive)
	if r.Student != "" {
		fmt.Fprintf(out, " student %s of class %s,", r.Student, r.Class)
	}
	trials, void := 0, 0
	for _, run := range r.Runs {
		trials, void = trials+run.Trials, void+run.Void
	}
	fmt.Fprintf(out, " %s with %s, %d void\n", report.Count(len(r.Runs), "run"), report.Count(trials, "trial"), void)
	if r.Versions != (evidence.Versions{}) {
		fmt.Fprintf(out, "  labctl %s, Kubernetes %s, client-go %s, %s on %s\n", r.Versions.Labctl, orUnknown(r.Versions.Kubernetes), r.Versions.ClientGo, r.Versions.Go, r.Versions.Platform)
	}
	for _, e := range r.Exercises {
		why := ""
		for _, i := range e.Items {
			if why == "" && i.Verdict == e.Verdict && e.Verdict != check.Pass {
				why = ": " + i.ID + ": " + i.Reason
			}
		}
		word := e.Verdict
		if e.Open {
			word, why = report.Open, fmt.Sprintf(": not done yet (%d of %d)", e.Done(), len(e.Items))
		}
		fmt.Fprintf(out, "  %-8s exercise %s%s\n", word, e.Exercise, why)
	}
	for _, l := range r.Checklists {
		open := 0
		for _, i := range l.Items {
			if i.Verdict != check.Pass {
				open++
			}
		}
		fmt.Fprintf(out, "  %-8s checklist %s: %d of %d fields are right or noted\n", l.Verdict, l.List, len(l.Items)-open, len(l.Items))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "  %s\n", f)
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(out, "  whole, and without contradiction")
	}
	if r.Head != "" {
		fmt.Fprintf(out, "  head of the hash chain: %s\n", r.Head)
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}

type summaryFlags struct{ class, format, output string }

func (a *app) evidenceSummaryCommand(k *course) *cobra.Command {
	var f summaryFlags
	c := &cobra.Command{
		Use:   "summary FILE…",
		Short: "Put the archives of a class side by side: students and exercises, what was changed or copied, and all gaps over the model",
		Long: "summary verifies archives as verify does, holds them against each other, and shows a row for each and the lock gaps of the whole class\n" +
			"beside the model. With --class, archives of another class or of none are told.",
		Example: "  labctl evidence summary handed-in/*.tar.gz --class class.json\n  labctl evidence summary handed-in/*.tar.gz --format html --output class.html",
		Args:    archives,
		RunE:    func(c *cobra.Command, args []string) error { return a.evidenceSummary(c, k, f, args) },
	}
	c.Flags().StringVar(&f.class, "class", "", "the class's file, as `labctl class new` made it")
	c.Flags().StringVar(&f.format, "format", formatText, "text, csv, html or json")
	c.Flags().StringVar(&f.output, "output", "", "write to this file; a file that is there is replaced as a whole")
	return c
}

const formatCSV = "csv"

func (a *app) evidenceSummary(c *cobra.Command, k *course, f summaryFlags, args []string) error {
	if err := a.checkFormat(c, &f.format, f.output, formatText, formatCSV, formatHTML, formatJSON); err != nil {
		return err
	}
	file := ""
	if f.output != "" {
		var err error
		if file, err = outputFile("--output", f.output); err != nil {
			return err
		}
	}
	var class *evidence.Class
	if f.class != "" {
		read, err := readClass(f.class)
		if err != nil {
			return err
		}
		class = &read
	}
	judges, results, err := a.verified(c.Context(), k, args)
	if err != nil {
		return err
	}
	evidence.Compare(results, class)
	s := evidence.Summarize(results, class, judges)
	if err := a.giveSummary(s, f, file); err != nil {
		return err
	}
	return exitFor(s.Verdict)
}

// giveSummary writes a summary to the file that --output leads to, or prints it.
func (a *app) giveSummary(s evidence.Summary, f summaryFlags, file string) error {
	if file == "" {
		return a.printSummary(a.streams.Out, s, f.format)
	}
	var page bytes.Buffer
	if err := a.printSummary(&output{to: &page}, s, f.format); err != nil {
		return err
	}
	if err := replaceFile(file, page.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(a.streams.Err, "note: the summary is in %s\n", lines(f.output))
	return nil
}

func (a *app) printSummary(out io.Writer, s evidence.Summary, format string) error {
	switch format {
	case formatJSON:
		return report.JSON(out, s)
	case formatCSV:
		return s.CSV(out)
	case formatHTML:
		return report.ClassHTML(out, s.Page())
	}
	if err := s.Text(out); err != nil {
		return err
	}
	next := strings.Replace(a.again(""), " --format text", "", 1)
	_, err := fmt.Fprintf(out, "verdict: %s (of the archives, not of the answers)\nnext: %s --format html --output class.html\n", s.Verdict, a.typed(next))
	return err
}
