package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/exercise"
)

const exercisesFolder = "../../../exercises"

// TestExerciseTranscripts plays testdata/exercise/*.txtar: the exercises and the checklist where no lab runs. SOLVED is a
// file of progress in which every exercise is solved, and RUNS the runs that it is about.
func TestExerciseTranscripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/exercise",
		Setup: func(e *testscript.Env) error {
			folder, err := filepath.Abs(exercisesFolder)
			if err != nil {
				return err
			}
			for name, value := range map[string]string{"EXERCISES": folder, "HOME": e.WorkDir, "XDG_STATE_HOME": e.WorkDir + "/state", "XDG_DATA_HOME": e.WorkDir + "/data",
				"SOLVED": e.WorkDir + "/solved.yaml", "RUNS": e.WorkDir + "/runs"} {
				e.Setenv(name, value)
			}
			return solvedProgress(folder, e.WorkDir)
		},
	})
}

// solvedProgress puts the recorded solutions of all exercises together.
func solvedProgress(folder, work string) error {
	all, err := exercise.Load(os.DirFS(folder))
	if err != nil {
		return err
	}
	p := exercise.Progress{Format: exercise.Format, Exercises: map[string]*exercise.Entry{}}
	runs := map[string]bool{}
	for _, e := range all {
		data, err := os.ReadFile(filepath.Join(folder, e.Name, exercise.ProofEntry))
		if err != nil {
			return err
		}
		entry, err := exercise.ReadEntry(data)
		if err != nil {
			return err
		}
		p.Exercises[e.Name] = &entry
		found, err := filepath.Glob(filepath.Join(folder, e.Name, exercise.ProofRuns, "*"))
		if err != nil {
			return err
		}
		for _, run := range found {
			if name := filepath.Base(run); !runs[name] {
				runs[name] = true
				if err := os.CopyFS(filepath.Join(work, "runs", name), os.DirFS(run)); err != nil {
					return err
				}
			}
		}
	}
	if err := os.WriteFile(filepath.Join(work, "bin.junk"), []byte("\x7fELF\x02\x00\xff\xfe"), 0o600); err != nil {
		return err
	}
	return p.Write(filepath.Join(work, "solved.yaml"))
}

// TestEveryCommandOfTheCourse_exists looks up each labctl line of the course's texts, with its flags.
func TestEveryCommandOfTheCourse_exists(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../../exercises/*/*.md", "../../../checklists/*.md", "../../../docs/student.md", "../../../docs/instructor.md", "../../../docs/kit.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	seen := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(data), "\n") {
			for _, command := range commandsIn(line) {
				seen++
				if err := known(command); err != nil {
					t.Errorf("%s: %q: %v", file, command, err)
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d commands were found", seen)
	}
}

// commandsIn finds the labctl commands of a line: indented, or between backticks.
func commandsIn(line string) []string {
	var found []string
	parts := strings.Split(line, "`")
	for i, part := range parts {
		if i%2 == 0 && (len(parts) > 1 || !strings.HasPrefix(part, "    ")) {
			continue
		}
		part, _, _ = strings.Cut(part, "#")
		for _, c := range strings.Split(part, " && ") {
			c = strings.TrimPrefix(strings.TrimSpace(c), "bin/")
			if strings.HasPrefix(c, "labctl ") && !strings.ContainsAny(c, "…") {
				found = append(found, c)
			}
		}
	}
	return found
}

// known reports whether the command and its flags exist.
func known(command string) error {
	a := &app{streams: Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)}, self: "labctl", providers: providers()}
	root := a.root()
	root.SetContext(context.Background())
	words := strings.Fields(command)[1:]
	c, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return group(c, rest)
	}
	return flagsOf(c, rest)
}

func flagsOf(c *cobra.Command, words []string) error {
	var flags []string
	for _, w := range words {
		if strings.HasPrefix(w, "--") {
			flags = append(flags, w)
		}
	}
	for _, f := range flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(f, "--"), "=")
		if c.Flag(name) == nil && c.InheritedFlags().Lookup(name) == nil && name != "help" {
			return usageError{command: c.CommandPath(), err: &unknownFlag{name}}
		}
	}
	return nil
}

type unknownFlag struct{ name string }

func (u *unknownFlag) Error() string { return "there is no flag --" + u.name }
