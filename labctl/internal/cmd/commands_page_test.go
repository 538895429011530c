package cmd

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
)

const commandsIntro = `# The commands

What ` + "`--help`" + ` prints of each command, on one page. ` + "`make docs`" + ` writes it, and a test holds it to the program. What every
command takes is listed once, here:

`

const exitCodes = `
Exit codes: 0 passed, 1 a check failed, 2 something was not seen, 3 could not run, 124 time limit, 130 interrupted. Results go to
stdout, progress and messages to stderr.
`

// TestCommandsPage holds docs/commands.md to the command line.
func TestCommandsPage(t *testing.T) {
	root := (&app{self: "labctl", providers: providers()}).root()
	var page bytes.Buffer
	page.WriteString(commandsIntro)
	fence(&page, root.PersistentFlags().FlagUsages())
	page.WriteString(exitCodes)
	describe(&page, root)
	holds(t, "docs/commands.md", page.Bytes())
}

// describe writes a section for each command below c.
func describe(page *bytes.Buffer, c *cobra.Command) {
	for _, one := range c.Commands() {
		if one.Hidden || one.Name() == "help" || one.Name() == "completion" {
			continue
		}
		about := one.Long
		if about == "" {
			about = one.Short + "."
		}
		fmt.Fprintf(page, "\n%s %s\n\n", strings.Repeat("#", 1+strings.Count(one.CommandPath(), " ")), one.CommandPath())
		fence(page, about)
		fmt.Fprintf(page, "\n`%s`\n", one.UseLine())
		if one.HasExample() {
			page.WriteString("\n")
			page.WriteString(strings.TrimRight(regexp.MustCompile(`(?m)^  `).ReplaceAllString(one.Example, "    "), "\n") + "\n")
		}
		if one.HasAvailableLocalFlags() {
			page.WriteString("\n")
			fence(page, one.LocalFlags().FlagUsages())
		}
		describe(page, one)
	}
}

// fence writes a text as the help prints it.
func fence(page *bytes.Buffer, text string) {
	fmt.Fprintf(page, "```\n%s\n```\n", strings.TrimRight(text, "\n"))
}

// TestExercisesPage holds the table of exercises/README.md to the exercises.
func TestExercisesPage(t *testing.T) {
	const page = "exercises/README.md"
	data, err := os.ReadFile(repository + "/" + page)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| --- | --- | --- | --- |\n"
	before, rest, found := strings.Cut(string(data), head)
	_, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no table", page)
	}
	all, err := exercise.Load(exercises.FS)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, e := range all {
		fmt.Fprintf(&table, "| [%s](%s/README.md) | %s | %s | %d |\n", e.Number(), e.Name, e.Title, cell(e.Misconception), e.Minutes)
	}
	holds(t, page, []byte(before+head+table.String()+"\n"+after))
}

// holds compares a page with what the code says, and writes it with -update.
func holds(t *testing.T, page string, want []byte) {
	t.Helper()
	path := repository + "/" + page
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says; run make docs, and look at the difference", page)
	}
}
