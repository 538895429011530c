// Package checklist owns the checklists: which fields one has, what of them can be filled in from recorded runs, and whether
// what stands in a filled one is what the runs give. It touches no cluster, clock or network.
package checklist

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/checklist/source"
)

// Format is the version of a checklist's field list that is read.
const Format = 1

// Kind says what a field holds.
type Kind string

// The kinds of fields.
const (
	Setting     Kind = "setting"     // a configured duration, of every run that the checklist cites
	Version     Kind = "version"     // of client-go
	Run         Kind = "run"         // a recorded run and trial
	Class       Kind = "class"       // of that trial
	Figure      Kind = "figure"      // a gap of that trial, in seconds
	Transitions Kind = "transitions" // leaseTransitions before and after it
	Citation    Kind = "citation"    // file:line in client-go
	Guess       Kind = "guess"       // what the student predicted: a number, recorded
	Text        Kind = "text"        // free words: recorded, for the instructor
)

// Field is one thing to fill in.
type Field struct {
	ID   string `json:"id"` // a letter and a number, as it stands in the text
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// What names a setting or a figure: leaseDuration, renewDeadline, retryPeriod; lockGap, gap.
	What string `json:"what,omitempty"`
	// Mode is that of a run's trial, and Of the run's field that a figure belongs to.
	Mode      string   `json:"mode,omitempty"`
	Of        string   `json:"of,omitempty"`
	Functions []string `json:"functions,omitempty"`
	// Exercise and Question name the prediction of an exercise that belongs here, by its number and the question's id.
	Exercise string `json:"exercise,omitempty"`
	Question string `json:"question,omitempty"`
}

// List is a checklist.
type List struct {
	Format   int     `json:"format"`
	Name     string  `json:"name"`
	Title    string  `json:"title"`
	Fields   []Field `json:"fields"`
	Template string  `json:"-"` // the Markdown to fill in
}

// Load reads every checklist: NAME.yaml and NAME.md.
func Load(root fs.FS) ([]List, error) {
	names, err := fs.Glob(root, "*.yaml")
	if err != nil {
		return nil, err
	}
	var lists []List
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		var l List
		if err := yaml.UnmarshalStrict(data, &l); err != nil {
			return nil, fmt.Errorf("checklist %s: %w", name, err)
		}
		template, err := fs.ReadFile(root, strings.TrimSuffix(name, ".yaml")+".md")
		if err != nil {
			return nil, fmt.Errorf("checklist %s: %w", name, err)
		}
		l.Template = string(template)
		if err := l.valid(); err != nil {
			return nil, fmt.Errorf("checklist %s: %w", name, err)
		}
		lists = append(lists, l)
	}
	return lists, nil
}

// valid reports a field list that is of another format, or does not fit its text.
func (l List) valid() error {
	if l.Format != Format {
		return fmt.Errorf("it is of format %d; this labctl reads format %d", l.Format, Format)
	}
	var problems []error
	entries := read(strings.Split(l.Template, "\n"))
	for _, f := range l.Fields {
		if n := len(entries[f.ID]); n != 1 {
			problems = append(problems, fmt.Errorf("field %s stands in the text %d times", f.ID, n))
		}
		for _, name := range f.Functions {
			if _, _, ok := source.Find(name); !ok {
				problems = append(problems, fmt.Errorf("field %s: client-go has no function %s", f.ID, name))
			}
		}
		if of, ok := l.field(f.Of); f.Of != "" && (!ok || of.Kind != Run) {
			problems = append(problems, fmt.Errorf("field %s: %q is no field of a run", f.ID, f.Of))
		}
	}
	return errors.Join(problems...)
}

func (l List) field(id string) (Field, bool) {
	for _, f := range l.Fields {
		if f.ID == id {
			return f, true
		}
	}
	return Field{}, false
}

// entry is a field as it stands in a file.
type entry struct {
	line  int // index
	value string
}

// label finds a field's id at the beginning of a line, behind bullets and boxes, and its value behind the colon.
var label = regexp.MustCompile(`^\W*(?:[xX]\W+)?([A-Z]\d{1,2})\b[^:]*:(.*)$`)

// read finds the fields of a file by their ids.
func read(lines []string) map[string][]entry {
	entries := map[string][]entry{}
	for i, line := range lines {
		found := label.FindStringSubmatch(plain.Typed(line))
		if found == nil {
			continue
		}
		value := filled(found[2])
		for j := i + 1; value == "" && j < len(lines); j++ { // a long answer may stand below
			next := plain.Typed(lines[j])
			if next == "" || strings.ContainsAny(next[:1], "#*|") || label.MatchString(next) {
				break
			}
			value = filled(next)
		}
		entries[found[1]] = append(entries[found[1]], entry{i, value})
	}
	return entries
}

// filled returns what was written over a blank; empty if nothing was.
func filled(s string) string {
	s = strings.TrimSpace(strings.Trim(strings.ReplaceAll(s, "_", " "), "* "))
	if strings.Trim(s, " ->.,()") == "" || s == "s" {
		return ""
	}
	return strings.Join(strings.Fields(s), " ")
}
