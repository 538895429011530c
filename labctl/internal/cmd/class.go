package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/evidence"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/whole"
)

func (a *app) classCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "class",
		Short: "Issue a class's nonce, join a class, prepare a shared cluster",
		Long: "A class has a file with a nonce. Who joined it draws the random phases of failovers, and the order of several modes, from the\n" +
			"nonce and an ID of their own, so that `labctl evidence summary` notices a record that was copied.",
		Example: "  labctl class new autumn                          # the instructor; hand class.json out\n  labctl class join class.json --student 07        # each student\n  labctl class kubeconfigs 30 --dir class          # on a shared cluster",
		Args:    cobra.ArbitraryArgs,
		RunE:    group,

		SuggestionsMinimumDistance: 2,
	}
	var output, student string
	create := &cobra.Command{Use: "new NAME", Short: "Issue a class: a file with a fresh nonce", Args: oneWord("the class's name"),
		RunE: func(c *cobra.Command, args []string) error {
			if output == "" {
				return usageError{command: c.CommandPath(), err: errors.New("--output has no file's name")}
			}
			return a.classNew(args[0], output)
		}}
	create.Flags().StringVar(&output, "output", "class.json", "the file to make; one that is there is not replaced")
	join := &cobra.Command{Use: "join FILE --student ID", Short: "Join a class: from now on failovers draw their phases from its nonce and your ID", Args: oneFile,
		Example: "  labctl class join class.json --student 07",
		RunE:    func(c *cobra.Command, args []string) error { return a.classJoin(c, args[0], student) }}
	join.Flags().StringVar(&student, "student", "", "an ID of your own: letters, digits, dots and dashes; not your name if the evidence is to hold none")
	leave := &cobra.Command{Use: "leave", Short: "Leave the class that was joined: phases are drawn at random again", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.classLeave() }}
	c.AddCommand(create, join, leave, a.classKubeconfigsCommand())
	return c
}

// oneWord accepts one argument that is not empty.
func oneWord(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usageError{command: c.CommandPath(), err: fmt.Errorf("%s takes %s", c.CommandPath(), what)}
		}
		return nil
	}
}

// membershipFile is where it is kept which class was joined: beside the runs, which follow from it.
func membershipFile() (string, error) {
	runs, err := lab.RunsDir()
	return filepath.Join(filepath.Dir(runs), "class.json"), err
}

// membership returns the class that was joined; nil if none was.
func membership() (*evidence.Membership, error) {
	file, err := membershipFile()
	if err != nil {
		return nil, err
	}
	data, err := whole.Read(file, whole.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &provider.Problem{Err: err, Hint: "ls -l " + shellWord(file)}
	}
	m, err := evidence.ReadMembership(data)
	if err != nil {
		return nil, &provider.Problem{Err: fmt.Errorf("%s: %w", file, err), Hint: "labctl class leave"}
	}
	return &m, nil
}

// drawn returns a run's seed and the order of its modes: of the class that was joined, else a random seed and the order as given.
func drawn(modes []fault.Mode) (uint64, []fault.Mode, error) {
	m, err := membership()
	if err != nil || m == nil {
		return rand.Uint64(), modes, err
	}
	seed := m.Seed(rand.Uint32())
	return seed, evidence.Order(modes, seed), nil
}

func (a *app) classNew(name, file string) error {
	class, err := evidence.NewClass(name, time.Now())
	if err != nil {
		return &provider.Problem{Err: err, Hint: "labctl class new autumn"}
	}
	data, err := json.MarshalIndent(class, "", "  ")
	if err != nil {
		return err
	}
	if _, err := os.Lstat(file); err == nil {
		return &provider.Problem{Err: fmt.Errorf("%s is there already, and its nonce would be lost", file), Hint: "labctl class new " + shellWord(name) + " --output other.json"}
	}
	target, err := outputFile("--output", file)
	if err == nil {
		err = replaceFile(target, append(data, '\n'))
	}
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, class)
	}
	_, err = fmt.Fprintf(a.streams.Out, "class %q is issued: %s holds its nonce, which each student needs and which is no secret within the class\nnext: hand it out; each student types %s\n",
		class.Name, file, a.typed("labctl class join "+shellWord(file)+" --student ID"))
	return err
}

// classJoined is what `class join --json` and `class leave --json` print.
type classJoined struct {
	Schema  string `json:"schema"`
	Kind    string `json:"kind"`
	Class   string `json:"class"` // its name; empty if there is none now
	Student string `json:"student"`
	File    string `json:"file"`
}

func (a *app) classJoin(c *cobra.Command, from, student string) error {
	if student == "" {
		return usageError{command: c.CommandPath(), err: errors.New("--student is not given: an ID of your own, such as a number that the instructor knows")}
	}
	if err := evidence.CheckStudent(student); err != nil {
		return usageError{command: c.CommandPath(), err: err}
	}
	class, err := readClass(from)
	if err != nil {
		return err
	}
	file, err := membershipFile()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(evidence.Membership{Schema: report.Schema, Kind: evidence.KindMembership, Student: student, Class: class}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = whole.Write(file, append(data, '\n'), 0o600)
	}
	if err != nil {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, classJoined{report.Schema, "ClassJoined", class.Name, student, file})
	}
	_, err = fmt.Fprintf(a.streams.Out, "you are student %s of class %q: failovers from now on draw their phases, and the order of several modes, from it\nnext: %s\n", student, class.Name, a.typed("labctl exercise next"))
	return err
}

// readClass reads a class's file.
func readClass(file string) (evidence.Class, error) {
	data, err := whole.Read(file, whole.Small)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return evidence.Class{}, &provider.Problem{Err: fmt.Errorf("there is no file %s; the instructor hands it out, as `labctl class new` made it", file), Hint: "ls -l " + shellWord(filepath.Dir(file))}
	case err != nil:
		return evidence.Class{}, &provider.Problem{Err: fmt.Errorf("%s: %s", file, reasonOf(err)), Hint: "ls -ld " + shellWord(file)}
	}
	class, err := evidence.ReadClass(data)
	if err != nil {
		return class, &provider.Problem{Err: fmt.Errorf("%s: %w; the instructor hands one out, as `labctl class new` made it", file, err), Hint: "ls -l " + shellWord(file)}
	}
	return class, nil
}

func (a *app) classLeave() error {
	file, err := membershipFile()
	if err != nil {
		return err
	}
	err = os.Remove(file)
	none := errors.Is(err, fs.ErrNotExist)
	if err != nil && !none {
		return err
	}
	if a.json {
		return report.JSON(a.streams.Out, classJoined{Schema: report.Schema, Kind: "ClassJoined", File: file})
	}
	text := "the class is left: phases are drawn at random again"
	if none {
		text = "no class was joined"
	}
	_, err = fmt.Fprintf(a.streams.Out, "%s\nnext: %s\n", text, a.typed("labctl class join class.json --student ID"))
	return err
}
