package cmd

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"academy.example/lab/exercises"
	"academy.example/lab/labctl/internal/exercise"
)

func TestNextInExercise(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	a := &app{name: "lab"}
	if got := a.nextInExercise(); got != "" {
		t.Errorf("nothing was begun: got %q", got)
	}
	file, err := a.progressFile()
	if err != nil {
		t.Fatal(err)
	}
	all, err := exercise.Load(exercises.FS)
	if err != nil {
		t.Fatal(err)
	}
	p := exercise.Progress{Format: exercise.Format, Exercises: map[string]*exercise.Entry{}}
	entry, _ := p.Start(all[2], time.Now())
	for _, want := range []string{"labctl exercise check", ""} {
		if err := p.Write(file); err != nil {
			t.Fatal(err)
		}
		if got := a.nextInExercise(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		entry.Passed = &entry.Started
	}
}

// beside reads a page of the repository, and the exercises that it is about.
func beside(t *testing.T, name string) (page string, all []exercise.Exercise) {
	t.Helper()
	data, err := os.ReadFile(repository + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if all, err = exercise.Load(exercises.FS); err != nil {
		t.Fatal(err)
	}
	return string(data), all
}

// The recipe of CONTRIBUTING.md makes the exercise that comes next; another number would not pass the tests.
func TestContributing_namesTheNextExercise(t *testing.T) {
	page, all := beside(t, "CONTRIBUTING.md")
	next := fmt.Sprintf("%02d", len(all)+1)
	if made := "exercises/" + next + "-say-what-you-mean"; strings.Count(page, made) != 2 || strings.Count(page, " "+next+" ") < 4 {
		t.Errorf("the recipe does not make the exercise %s", next)
	}
}

// The instructor's timings name every exercise as it is called, with its minutes.
func TestInstructorPage_hasEveryExercise(t *testing.T) {
	page, all := beside(t, "docs/instructor.md")
	for _, e := range all {
		if row := fmt.Sprintf("| %s %s | %d min |", e.Number(), e.Title, e.Minutes); !strings.Contains(page, row) {
			t.Errorf("docs/instructor.md has no row %q", row)
		}
	}
}
