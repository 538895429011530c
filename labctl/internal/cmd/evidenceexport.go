package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/evidence"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/exercise/shelf"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/whole"
)

type exportFlags struct {
	output     string
	runsDir    string
	checklists []string
}

func (a *app) evidenceExportCommand(k *course) *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export [RUN…]",
		Short: "Pack the runs, answers and checklists of this lab into one archive to hand in",
		Long: "export packs the answers to the exercises, the filled checklists, and the runs that decide about them. With RUNs it packs those\n" +
			"runs and nothing else. The archive names neither you nor your machine, unless an answer of yours does; of paths in answers the\n" +
			"last element is kept. The same content gives the same bytes.",
		Example: "  labctl evidence export\n  labctl evidence export --checklist my-checklist.md --output evidence-07.tar.gz\n  labctl evidence export latest",
		Args:    named,
		RunE:    func(c *cobra.Command, args []string) error { return a.evidenceExport(c, k, f, args) },
	}
	c.Flags().StringVar(&f.output, "output", "", "the archive to make (default evidence.tar.gz, or evidence-ID.tar.gz in a class); one that is there is replaced")
	c.Flags().StringArrayVar(&f.checklists, "checklist", nil, "a filled checklist (default "+usualChecklist+", if it is here)")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder of the runs")
	return c
}

// usualChecklist is what the course calls a student's checklist.
const usualChecklist = "my-checklist.md"

// handIn is an archive in the making.
type handIn struct {
	app    *app
	bundle evidence.Bundle
	judges evidence.Course
	course *course
	runs   string // folder of the runs
	hide   func(string) string
	chosen map[string]bool // folders of runs, by name
	passed int             // exercises
	trials int
}

func (a *app) evidenceExport(c *cobra.Command, k *course, f exportFlags, args []string) error {
	if f.output == "" && c.Flags().Changed("output") {
		return usageError{command: c.CommandPath(), err: errors.New("--output has no file's name")}
	}
	judges, err := a.judges(k)
	if err != nil {
		return err
	}
	if len(args) == 0 { // runs that are named need no progress
		if err := a.openCourse(k); err != nil {
			return err
		}
	}
	if f.runsDir, err = runsFolder(f.runsDir); err != nil {
		return err
	}
	e := &handIn{app: a, judges: judges, course: k, runs: f.runsDir, hide: lab.Nameless(f.runsDir), chosen: map[string]bool{}}
	if err := e.about(c.Context()); err != nil {
		return err
	}
	if f.output == "" {
		f.output = e.usualName()
	}
	target, err := outputFile("--output", f.output)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		err = e.named(args)
	} else {
		err = errors.Join(e.progress(), e.checklists(f.checklists))
	}
	if err == nil {
		err = e.addRuns()
	}
	if err != nil {
		return err
	}
	if len(e.bundle.Files) == 0 {
		return &provider.Problem{Err: fmt.Errorf("there is nothing to hand in yet: no exercise of lab %q was begun, and no checklist is here", a.name), Hint: "labctl exercise next"}
	}
	return e.write(f.output, target)
}

// about fills in whose the archive is and what it is made with.
func (e *handIn) about(ctx context.Context) error {
	m := &e.bundle.Manifest
	m.Lab, m.Course = e.app.name, e.judges.Digests
	m.Versions = evidence.Versions{Labctl: provider.Version(), ClientGo: clientGo(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, p := range e.app.providers {
		if cluster, err := p.Find(ctx, e.app.name); err == nil { // a lab that is down has no version
			m.Versions.Kubernetes = cluster.Kubernetes
		}
	}
	member, err := membership()
	if member != nil {
		m.Class, m.Student = &member.Class, member.Student
	}
	return err
}

// named chooses runs that were named.
func (e *handIn) named(runs []string) error {
	for _, run := range runs {
		path, err := lab.FindRun(e.runs, run)
		if err != nil {
			return err
		}
		if err := e.choose(path); err != nil {
			return err
		}
	}
	return nil
}

// choose takes a run's folder. Two of one name can't be in an archive.
func (e *handIn) choose(path string) error {
	name := filepath.Base(path)
	if err := e.addFile(evidence.RunPath(name, "run.json"), filepath.Join(path, "run.json")); err != nil {
		return &provider.Problem{Err: fmt.Errorf("run %s: %w", name, err), Hint: "ls -l " + shellWord(path)}
	}
	e.chosen[path] = true
	return nil
}

// progress takes the answers, and chooses the runs that decide about them.
func (e *handIn) progress() error {
	p := e.course.progress
	if len(p.Exercises) == 0 {
		return nil
	}
	runs, skipped := shelf.Runs(e.runs, e.app.name, time.Time{})
	for _, err := range skipped {
		fmt.Fprintf(e.app.streams.Err, "note: a run is left out: %v\n", err)
	}
	for _, one := range e.course.all {
		entry := p.Exercises[one.Name]
		if entry == nil {
			continue
		}
		if entry.Passed != nil {
			e.passed++
		}
		for _, run := range runs {
			if one.Bears(entry, run) {
				if err := e.choose(filepath.Join(e.runs, run.Name)); err != nil {
					return err
				}
			}
		}
	}
	data, err := yaml.Marshal(e.unnamed(p))
	if err != nil {
		return err
	}
	return e.bundle.Add("progress.yaml", data)
}

// unnamed is the progress without the names and folders of this machine, which an answer may quote.
func (e *handIn) unnamed(p *exercise.Progress) *exercise.Progress {
	for _, entry := range p.Exercises {
		for id, answer := range entry.Answers {
			hidden := e.hide(answer)
			entry.Answers[id] = hidden
			if guess, ok := entry.Predicted[id]; ok && guess.Value == answer {
				guess.Value = hidden
				entry.Predicted[id] = guess
			}
		}
	}
	return p
}

// checklists takes filled checklists, and chooses the runs that they cite.
func (e *handIn) checklists(files []string) error {
	if _, err := os.Stat(usualChecklist); err == nil && len(files) == 0 {
		files = []string{usualChecklist}
	}
	for _, file := range files {
		text, err := readFilled(file)
		if err != nil {
			return err
		}
		for i := range text.Lines {
			text.Lines[i] = e.hide(text.Lines[i])
		}
		list := e.judges.Lists[0] // there is one; which of several a file is, its fields would say
		if err := e.bundle.Add("checklists/"+list.Name+".md", text.Encode()); err != nil {
			return err
		}
		for _, name := range list.Cites(text) {
			path := filepath.Join(e.runs, name)
			if _, err := os.Stat(path); err != nil {
				fmt.Fprintf(e.app.streams.Err, "note: %s cites run %s, which is not in %s\n", file, name, e.runs)
				continue
			}
			if err := e.choose(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRuns takes the files of the runs that were chosen, as they are.
func (e *handIn) addRuns() error {
	for path := range e.chosen {
		name := filepath.Base(path)
		for _, file := range []string{"timeline.jsonl", "trials.json"} {
			err := e.addFile(evidence.RunPath(name, file), filepath.Join(path, file))
			if err != nil && !(file == "trials.json" && errors.Is(err, fs.ErrNotExist)) { // a killed run may have none
				return &provider.Problem{Err: fmt.Errorf("run %s: %w", name, err), Hint: "ls -l " + shellWord(path)}
			}
		}
		run, err := shelf.Run(path)
		if err != nil { // such as of a run that was simulated
			return &provider.Problem{Err: err, Hint: "labctl report " + shellWord(path)}
		}
		e.trials += len(recorded.All([]recorded.Run{run}))
		if e.bundle.Files[evidence.RunPath(name, "trials.json")] == nil && ended(path) {
			fmt.Fprintf(e.app.streams.Err, "note: run %s came to its end and has no trials.json any more, and verify will say so\n", name)
		}
		if len(run.Edited) > 0 {
			fmt.Fprintf(e.app.streams.Err, "note: run %s contradicts itself, and verify will say so: %s\n", name, run.Edited[0])
		}
		if events := string(e.bundle.Files[evidence.RunPath(name, "timeline.jsonl")]); e.hide(events) != events {
			fmt.Fprintf(e.app.streams.Err, "note: the events of run %s hold a name or folder of this machine; they are packed as they are, since a change would show\n", name)
		}
	}
	return nil
}

// ended reports whether a run came to an end that was recorded.
func ended(path string) (yes bool) {
	err := lab.EachEvent(path, func(event timeline.Event) { yes = yes || event.Kind == timeline.RunEnded })
	return yes && err == nil
}

func (e *handIn) addFile(path, file string) error {
	most := int64(whole.Record)
	if filepath.Base(file) == "run.json" {
		most = whole.Small
	}
	data, err := whole.Read(file, most)
	if err != nil {
		return err
	}
	return e.bundle.Add(path, data)
}

// evidenceExported is what `evidence export --json` prints.
type evidenceExported struct {
	Schema     string   `json:"schema"`
	Kind       string   `json:"kind"`
	File       string   `json:"file"`
	Bytes      int      `json:"bytes"`
	Head       string   `json:"head"` // of the hash chain
	Student    string   `json:"student,omitempty"`
	Class      string   `json:"class,omitempty"`
	Exercises  int      `json:"exercises"` // that were begun
	Passed     int      `json:"passed"`
	Checklists int      `json:"checklists"`
	Runs       []string `json:"runs"`
	Trials     int      `json:"trials"`
}

// usualName is what the archive is called if nobody says otherwise.
func (e *handIn) usualName() string {
	if student := e.bundle.Manifest.Student; student != "" {
		return "evidence-" + student + ".tar.gz"
	}
	return "evidence.tar.gz"
}

// write packs the archive into the file that was named, which leads to target, and tells what is in it.
func (e *handIn) write(file, target string) error {
	m := &e.bundle.Manifest
	var packed bytes.Buffer
	if err := e.bundle.Write(&packed); err != nil {
		return &provider.Problem{Err: err, Hint: "labctl evidence export RUN"}
	}
	if err := replaceFile(target, packed.Bytes()); err != nil {
		return err
	}
	result := evidenceExported{Schema: report.Schema, Kind: "EvidenceExport", File: file, Bytes: packed.Len(), Head: m.Head, Student: m.Student, Passed: e.passed, Runs: []string{}, Trials: e.trials}
	if m.Class != nil {
		result.Class = m.Class.Name
	}
	if e.bundle.Files["progress.yaml"] != nil {
		result.Exercises = len(e.course.progress.Exercises)
	}
	for path := range e.bundle.Files {
		if strings.HasPrefix(path, "checklists/") {
			result.Checklists++
		}
	}
	for path := range e.chosen {
		result.Runs = append(result.Runs, filepath.Base(path))
	}
	slices.Sort(result.Runs)
	if e.app.json {
		return report.JSON(e.app.streams.Out, result)
	}
	out := e.app.streams.Out
	fmt.Fprintf(out, "%s, %d KB: %s (%d passed), %s, %s with %s\n", file, (packed.Len()+1023)>>10, report.Count(result.Exercises, "exercise"), result.Passed,
		report.Count(result.Checklists, "checklist"), report.Count(len(result.Runs), "run"), report.Count(result.Trials, "trial"))
	if m.Student != "" {
		fmt.Fprintf(out, "of student %s, class %s\n", m.Student, result.Class)
	}
	_, err := fmt.Fprintf(out, "head of the hash chain: %s\nnext: %s, then hand the file in\n", m.Head, e.app.typed("labctl evidence verify "+shellWord(file)))
	return err
}
