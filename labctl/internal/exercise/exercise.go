// Package exercise owns the exercises as data, what a student has answered, and the verdict on it. It is given recorded runs
// and a snapshot of the lab as evidence; it touches no cluster, clock or network itself.
package exercise

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format is the version of exercise.yaml that is read.
const Format = 1

// Exercise is one folder.
type Exercise struct {
	Name string `json:"-"` // of the folder, NN-verb-the-noun
	Data
	Readme   string   `json:"-"`
	Hints    []string `json:"-"` // from a nudge to nearly there
	Solution string   `json:"-"`
}

// Data is exercise.yaml.
type Data struct {
	Format int    `json:"format"`
	Title  string `json:"title"`
	// Seed says where in the course's texts it comes from, and Source what it is about in the code: file and line.
	Seed   string   `json:"seed"`
	Source []string `json:"source"`
	// Misconception is what one believes before, in one sentence.
	Misconception string     `json:"misconception"`
	Minutes       int        `json:"minutes"`
	Questions     []Question `json:"questions"`
}

// Number is the exercise's place in the order, as its folder says: "03".
func (e Exercise) Number() string { return e.Name[:2] }

// Question returns the question of that id.
func (e Exercise) Question(id string) (Question, bool) {
	for _, q := range e.Questions {
		if q.ID == id {
			return q, true
		}
	}
	return Question{}, false
}

var folder = regexp.MustCompile(`^\d\d-[a-z0-9]+(-[a-z0-9]+)*$`)

// Load reads every exercise of a folder of them, in order. Each problem is in the error.
func Load(root fs.FS) ([]Exercise, error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, fmt.Errorf("read the exercises: %w", err)
	}
	var all []Exercise
	var problems []error
	for _, entry := range entries {
		if !entry.IsDir() || !folder.MatchString(entry.Name()) {
			continue
		}
		e, err := load(root, entry.Name())
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if n := len(all); n > 0 && all[n-1].Number() == e.Number() {
			problems = append(problems, fmt.Errorf("exercises %s and %s have one number: nobody could begin the second by it", all[n-1].Name, e.Name))
		}
		all = append(all, e)
	}
	if len(all) == 0 && len(problems) == 0 {
		problems = append(problems, errors.New("there is no exercise in this folder: none below it is named NN-name and has an exercise.yaml"))
	}
	return all, errors.Join(problems...)
}

// The files of an exercise's folder.
const (
	dataFile     = "exercise.yaml"
	readmeFile   = "README.md"
	hintsFile    = "hints.md"
	solutionFile = "solution.md"
)

func load(root fs.FS, name string) (Exercise, error) {
	e := Exercise{Name: name}
	texts := map[string]string{}
	for _, file := range []string{dataFile, readmeFile, hintsFile, solutionFile} {
		data, err := fs.ReadFile(root, path.Join(name, file))
		if err != nil {
			return e, fmt.Errorf("exercise %s: %w", name, err)
		}
		texts[file] = string(data)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := yaml.Unmarshal([]byte(texts[dataFile]), &version); err != nil {
		return e, fmt.Errorf("exercise %s: %s: %w", name, dataFile, err)
	}
	if version.Format != Format {
		return e, fmt.Errorf("exercise %s: %s is of format %d; this labctl reads format %d, so it needs an exercise or a labctl of the other age", name, dataFile, version.Format, Format)
	}
	if err := yaml.UnmarshalStrict([]byte(texts[dataFile]), &e.Data); err != nil {
		return e, fmt.Errorf("exercise %s: %s: %w", name, dataFile, err)
	}
	e.Readme, e.Solution = texts[readmeFile], texts[solutionFile]
	for _, h := range strings.Split(texts[hintsFile], "\n---\n") {
		if h = strings.TrimSpace(h); h != "" {
			e.Hints = append(e.Hints, h)
		}
	}
	return e, e.valid()
}

// Find returns the exercise that a word names: its number, its folder's name or the beginning of one.
func Find(all []Exercise, word string) (Exercise, bool) {
	number := word
	if len(number) == 1 {
		number = "0" + number
	}
	i := slices.IndexFunc(all, func(e Exercise) bool { return e.Name == word || e.Number() == number })
	if i < 0 && len(word) > 1 {
		i = slices.IndexFunc(all, func(e Exercise) bool {
			return strings.HasPrefix(e.Name, word) || strings.HasPrefix(e.Name[3:], word)
		})
	}
	if i < 0 {
		return Exercise{}, false
	}
	return all[i], true
}
