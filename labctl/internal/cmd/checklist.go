package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/checklists"
	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist"
	"academy.example/lab/labctl/internal/checklist/plain"
	leasesource "academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/whole"
)

func (a *app) checklistCommand() *cobra.Command {
	var runsDir string
	c := &cobra.Command{
		Use:     "checklist",
		Short:   "Print a checklist, fill it in from recorded runs, check a filled one",
		Example: "  labctl checklist fill my-checklist.md\n  labctl checklist check my-checklist.md",
		Args:    cobra.ArbitraryArgs,
		RunE:    group,

		SuggestionsMinimumDistance: 2,
	}
	list := &cobra.Command{Use: "list", Short: "List the checklists", Args: noArgs, RunE: func(*cobra.Command, []string) error { return a.checklistList() }}
	print := &cobra.Command{Use: "print [NAME]", Short: "Print a checklist that is not filled in", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.checklistPrint(args) }}
	fill := &cobra.Command{Use: "fill FILE", Short: "Write what was measured into the blank lines of a checklist; the file is made if it is not there",
		Args: oneFile, RunE: func(_ *cobra.Command, args []string) error { return a.checklistFill(runsDir, args[0]) }}
	verify := &cobra.Command{Use: "check FILE", Short: "Hold each line of a filled checklist against the recorded events and client-go's source",
		Args: oneFile, RunE: func(_ *cobra.Command, args []string) error { return a.checklistCheck(runsDir, args[0]) }}
	for _, sub := range []*cobra.Command{fill, verify} {
		sub.Flags().StringVar(&runsDir, "runs-dir", "", "folder of the runs")
	}
	sources := &cobra.Command{Use: "source", Short: "Name the version of client-go that citations are checked against", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.checklistSource() }}
	c.AddCommand(list, print, fill, verify, sources)
	return c
}

func oneFile(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes one file", c.CommandPath())}
	}
	return nil
}

func (a *app) checklistList() error {
	lists, err := checklist.Load(checklists.FS)
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Checklists", "checklists": lists})
	}
	for _, l := range lists {
		fmt.Fprintf(a.streams.Out, "%s  %s, %d fields\n", l.Name, l.Title, len(l.Fields))
	}
	_, err = fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed("labctl checklist fill my-checklist.md"))
	return err
}

// pickList returns the checklist of that name, or the first one. What is in a file has its name in the first lines.
func pickList(name string) (checklist.List, error) {
	lists, err := checklist.Load(checklists.FS)
	if err != nil {
		return checklist.List{}, err
	}
	for _, l := range lists {
		if name == "" || name == l.Name {
			return l, nil
		}
	}
	return checklist.List{}, &provider.Problem{Err: fmt.Errorf("there is no checklist %q", name), Hint: "labctl checklist list"}
}

func (a *app) checklistPrint(args []string) error {
	name := ""
	if len(args) > 0 {
		name = strings.TrimSuffix(args[0], ".md")
	}
	l, err := pickList(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.streams.Out, l.Template)
	return err
}

func (a *app) checklistSource() error {
	built := clientGo()
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Source", "module": leasesource.Module, "operator": built, "table": leasesource.Version})
	}
	fmt.Fprintf(a.streams.Out, "the operator was built with %s %s\n", leasesource.Module, built)
	if built != leasesource.Version {
		fmt.Fprintf(a.streams.Out, "the table of functions is of %s, so citations can't be verified\n", leasesource.Version)
	}
	_, err := fmt.Fprintf(a.streams.Out, "https://github.com/kubernetes/client-go/blob/%s/tools/leaderelection/leaderelection.go\n", built)
	return err
}

// readText reads a checklist's file.
func readText(file string) (plain.Text, error) {
	data, err := whole.Read(file, whole.Small)
	if err != nil {
		return plain.Text{}, err
	}
	text, err := plain.Decode(data)
	if err != nil {
		return text, &provider.Problem{Err: fmt.Errorf("%s: %w", file, err), Hint: "labctl checklist fill my-checklist.md"}
	}
	return text, nil
}

func (a *app) checklistFill(runsDir, file string) error {
	l, err := pickList("")
	if err != nil {
		return err
	}
	text, err := readText(file)
	made := errors.Is(err, fs.ErrNotExist)
	if made {
		text, err = plain.Decode([]byte(l.Template))
	}
	if err != nil {
		return err
	}
	if runsDir, err = runsFolder(runsDir); err != nil {
		return err
	}
	runs, skipped := shelf.Runs(runsDir, a.name, time.Time{})
	for _, err := range skipped {
		fmt.Fprintf(a.streams.Err, "note: a run is left out: %v\n", err)
	}
	filled := l.Fill(&text, checklist.Known{Runs: runs, ClientGo: clientGo(), Predicted: a.predictions()})
	if err := replaceFile(file, text.Encode()); err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "ChecklistFill", "file": file, "fields": filled})
	}
	if made {
		fmt.Fprintf(a.streams.Out, "%s is made\n", file)
	}
	for _, f := range filled {
		switch {
		case f.Left == "":
			fmt.Fprintf(a.streams.Out, "  written  %s %s: %s\n", f.ID, f.Name, f.Value)
		case f.Value == "":
			fmt.Fprintf(a.streams.Out, "  open     %s %s: %s\n", f.ID, f.Name, f.Left)
		}
	}
	_, err = fmt.Fprintf(a.streams.Out, "next: open %s in an editor, then %s\n", file, a.typed("labctl checklist check "+shellWord(file)))
	return err
}

// predictions returns how to look up what was predicted in an exercise of this lab. What can't be read was not predicted.
func (a *app) predictions() func(number, question string) string {
	k := course{}
	if err := a.openCourse(&k); err != nil {
		return nil
	}
	return func(number, question string) string {
		e, _ := exercise.Find(k.all, number)
		q, known := e.Question(question)
		if entry := k.progress.Exercises[e.Name]; known && entry != nil {
			return q.InWords(entry.Predicted[question].Value)
		}
		return ""
	}
}

func (a *app) checklistCheck(runsDir, file string) error {
	l, err := pickList("")
	if err != nil {
		return err
	}
	text, err := readFilled(file)
	if err != nil {
		return err
	}
	if runsDir, err = runsFolder(runsDir); err != nil {
		return err
	}
	result := l.Check(text, checklist.Evidence{ClientGo: clientGo(), Run: func(name string) (recorded.Run, bool, error) {
		path := filepath.Join(runsDir, name)
		if _, err := os.Stat(path); err != nil {
			return recorded.Run{}, false, nil
		}
		run, err := shelf.Run(path)
		return run, true, err
	}})
	if a.json {
		err = report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "ChecklistCheck", "file": file, "result": result})
	} else {
		err = a.printChecked(file, result)
	}
	if err != nil {
		return err
	}
	return exitFor(result.Verdict)
}

func (a *app) printChecked(file string, r checklist.Result) error {
	for _, i := range r.Items {
		mark := string(i.Verdict)
		switch {
		case i.Open:
			mark = "open"
		case i.Recorded && i.Verdict == check.Pass:
			mark = "noted"
		}
		where := file
		if i.Line > 0 {
			where = fmt.Sprintf("line %d", i.Line)
		}
		fmt.Fprintf(a.streams.Out, "  %-8s %s (%s), %s: %s\n", mark, i.ID, i.Name, where, i.Reason)
	}
	verdict := string(r.Verdict)
	if r.Open {
		verdict = fmt.Sprintf("not done yet (%d of %d)", r.Done(), len(r.Items))
	}
	_, err := fmt.Fprintf(a.streams.Out, "verdict: %s\n", verdict)
	return err
}

// readFilled is readText for a checklist that somebody has filled in.
func readFilled(file string) (plain.Text, error) {
	text, err := readText(file)
	if errors.Is(err, fs.ErrNotExist) {
		err = &provider.Problem{Err: fmt.Errorf("there is no file %s", file), Hint: "labctl checklist fill " + shellWord(file)}
	}
	return text, err
}
