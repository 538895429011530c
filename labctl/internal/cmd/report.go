package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

type reportFlags struct {
	format  string
	output  string
	runsDir string
	claim   string
}

// The formats of a report.
const (
	formatText     = "text"
	formatMarkdown = "md"
	formatHTML     = "html"
	formatJSON     = "json"
)

// reportFormats are all formats of a report.
func reportFormats() []string {
	return []string{formatText, formatMarkdown, formatHTML, formatJSON}
}

func (a *app) reportCommand() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Compute a recorded run again from its events, and show it",
		Long: "report measures the trials of a recorded run again, from run.json and timeline.jsonl alone, judges and shows them.\n" +
			"RUN is the name of a run in the folder of runs, or a path; without it, the newest run is taken.\n\n" +
			"If the run's trials.json says something else than its events, that is told and the exit code is 1; otherwise the\n" +
			"exit code is that of the checks, as for failover.",
		Example: "  labctl report\n  labctl report 20261130-120000-failover --format md\n  labctl report --format html --output report.html\n  labctl report ./my-run --json",
		Args:    oneRun,
		RunE:    func(c *cobra.Command, args []string) error { return a.showReport(c, f, args) },
	}
	c.Flags().StringVar(&f.format, "format", formatText, "text, md, html or json; html is one page with pictures, json the object that failover --json prints")
	c.Flags().StringVar(&f.output, "output", "", "write to this file; a file that is there is replaced as a whole")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder of the runs")
	c.Flags().StringVar(&f.claim, "claim", "", "judge by these durations instead, to see whether the run tells them from its own: default, fast or three numbers of seconds")
	return c
}

// oneRun accepts the name of a run, or nothing for the newest one.
func oneRun(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes one run, not %d", c.CommandPath(), len(args))}
	}
	return named(c, args)
}

// named refuses the empty name, which a variable that is not set leaves.
func named(c *cobra.Command, args []string) error {
	if slices.Contains(args, "") {
		return usageError{command: c.CommandPath(), err: errors.New("the run's name is empty")}
	}
	return nil
}

func (a *app) showReport(c *cobra.Command, f reportFlags, args []string) error {
	if err := a.checkFormat(c, &f.format, f.output, reportFormats()...); err != nil {
		return err
	}
	args, err := a.ofLab(c, f.runsDir, args)
	if err != nil {
		return err
	}
	record, err := readFailovers(f.runsDir, args)
	if err != nil {
		return err
	}
	if f.claim != "" {
		timing, err := claimed(c.CommandPath(), f.claim)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.streams.Err, "note: judged as if the operator had run with %s; its record says %s\n", timing, record.Info.Timing)
		record.Info.Timing = timing
	}
	result := record.Report()
	if err := a.giveReport(c.Context(), record, result, f); err != nil {
		return err
	}
	contradictions, err := record.Contradictions(result.Trials)
	if err != nil {
		return err
	}
	if len(contradictions) > 0 {
		a.contradicted(record, contradictions)
		return verdictError{ExitFail}
	}
	return exitFor(result.Verdict)
}

// checkFormat refuses values of --format and --output, and sets the format that --json means.
func (a *app) checkFormat(c *cobra.Command, format *string, output string, known ...string) error {
	usage := func(format string, args ...any) error {
		return usageError{command: c.CommandPath(), err: fmt.Errorf(format, args...)}
	}
	switch last := len(known) - 1; {
	case !slices.Contains(known, *format):
		return usage("--format %q is not %s or %s", *format, strings.Join(known[:last], ", "), known[last])
	case output == "" && c.Flags().Changed("output"):
		return usage("--output has no file's name")
	case a.json && c.Flags().Changed("format") && *format != formatJSON:
		return usage("--json means --format json; it can't be joined with --format %s", *format)
	case a.json:
		*format = formatJSON
	}
	return nil
}

// ofLab names the newest run of the lab, if a lab was named and no run.
func (a *app) ofLab(c *cobra.Command, runs string, args []string) ([]string, error) {
	if len(args) > 0 || !c.Flags().Changed("name") {
		return args, nil
	}
	r, err := newestOf(runs, a.name)
	return []string{r.Path}, err
}

// readRecord reads the run that was named, or the newest one.
func readRecord(runs string, args []string) (lab.Record, error) {
	path, err := findRun(runs, args)
	if err != nil {
		return lab.Record{}, err
	}
	return lab.ReadRecord(path)
}

// readFailovers is readRecord for what is made of failovers: a trace of labctl gate check has none.
func readFailovers(runs string, args []string) (lab.Record, error) {
	record, err := readRecord(runs, args)
	if err == nil && isTrace(record.Info) {
		return record, &provider.Problem{Err: fmt.Errorf("%s is a trace of labctl gate check: there is no failover in it", filepath.Base(record.Path)),
			Hint: replayTrace(record.Path)}
	}
	return record, err
}

// isTrace reports whether a record is a trace of labctl gate check.
func isTrace(info lab.RunInfo) bool { return info.Virtual() && len(info.Modes) == 0 }

// newestOf reads the newest run of a lab. Runs that can't be read are passed over: they are not known to be its own.
func newestOf(runs, name string) (lab.Record, error) {
	runs, err := runsFolder(runs)
	if err != nil {
		return lab.Record{}, err
	}
	found, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return lab.Record{}, err
	}
	for _, f := range slices.Backward(found) { // their names begin with the time
		path := filepath.Join(runs, f.Name())
		if info, err := lab.ReadInfo(path); !f.IsDir() || err != nil || info.Lab != name {
			continue // and its events are not read
		}
		if r, err := lab.ReadRecord(path); err == nil {
			return r, nil
		}
	}
	return lab.Record{}, &provider.Problem{Err: fmt.Errorf("there is no run of lab %q in %s", name, runs), Hint: "labctl failover --force"}
}

// runsFolder is the folder of runs: the one that was named, or the usual one.
func runsFolder(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	return lab.RunsDir()
}

// findRun returns the folder of the run that was named, or of the newest one.
func findRun(runs string, args []string) (string, error) {
	run := "latest"
	if len(args) > 0 {
		run = args[0]
	}
	runs, err := runsFolder(runs)
	if err != nil {
		return "", err
	}
	return lab.FindRun(runs, run)
}

// giveReport prints the report, or writes it to the file that was named.
func (a *app) giveReport(ctx context.Context, record lab.Record, result report.Failover, f reportFlags) error {
	if f.output == "" {
		return a.printReport(ctx, a.streams.Out, record, result, f.format)
	}
	file, err := outputFile("--output", f.output)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := a.printReport(ctx, &output{to: &page}, record, result, f.format); err != nil {
		return err
	}
	if err := replaceFile(file, page.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(a.streams.Err, "note: the report is in %s\n", lines(f.output))
	return nil
}

func (a *app) printReport(ctx context.Context, out io.Writer, record lab.Record, result report.Failover, format string) error {
	switch format {
	case formatJSON:
		return report.JSON(out, result)
	case formatMarkdown:
		return report.Markdown(out, result)
	case formatHTML:
		about := about(record)
		var err error
		if about.Simulated, err = playAgain(ctx, result); err != nil {
			fmt.Fprintf(a.streams.Err, "note: the page is without virtual time, which could not be simulated: %s\n", lines(err.Error()))
		}
		return report.HTML(out, result, about, record.Events)
	}
	if err := report.Text(out, result); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "record: %s\nnext: %s\n", result.Run, a.typed("labctl replay "+shellWord(result.Run)))
	return err
}

// about is what a page says of a run beside its header.
func about(r lab.Record) report.About {
	i, again := r.Info, ""
	if i.Virtual() && len(r.Events) > 0 {
		again = r.Events[0].Note
	}
	return report.About{Again: again, Name: filepath.Base(r.Path), Modes: i.Modes, TrialsEach: i.Trials, Lanes: i.Lanes, Seed: i.Seed, StartedAt: i.StartedAt, Labctl: i.Labctl, Lab: i.Lab}
}

// mostContradictions bounds how many figures are listed that differ.
const mostContradictions = 5

// contradicted tells that trials.json is not what the events give.
func (a *app) contradicted(r lab.Record, differences []string) {
	for i, d := range differences {
		if i == mostContradictions {
			fmt.Fprintf(a.streams.Err, "note: and %d more figures differ\n", len(differences)-i)
			break
		}
		fmt.Fprintf(a.streams.Err, "note: %s\n", timeline.Visible(d))
	}
	a.message("trials.json of this run is not what its events give; shown is what the events give", "ls -l "+shellWord(r.Path))
}
