package exercise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/whole"
)

// Progress is what one student has done in one lab. Its file is theirs to read and to edit.
type Progress struct {
	Format    int               `json:"format"`
	Current   string            `json:"current,omitempty"` // the exercise that a command means if it names none
	Exercises map[string]*Entry `json:"exercises,omitempty"`
}

// Entry is the progress in one exercise.
type Entry struct {
	Started time.Time `json:"started"`
	// Answers are what the student typed, by the question's id.
	Answers map[string]string `json:"answers,omitempty"`
	// Predicted is when each prediction was written down: runs made before do not count.
	Predicted map[string]Guess `json:"predicted,omitempty"`
	// Seen are observations that a check has made.
	Seen   map[string]Sight `json:"seen,omitempty"`
	Hints  int              `json:"hints,omitempty"` // how many were shown
	Passed *time.Time       `json:"passed,omitempty"`
}

// Guess is a prediction and when it was first read.
type Guess struct {
	Value string    `json:"value"`
	At    time.Time `json:"at"`
}

// Sight is an observation that was made, and when.
type Sight struct {
	At  time.Time `json:"at"`
	Lab string    `json:"lab"` // in one line
}

// head is the first line of the file.
const head = "# What was done of the exercises. Answers may be edited here; times and sights are labctl's.\n"

// ReadProgress reads the file; a missing one is empty progress.
func ReadProgress(file string) (*Progress, error) {
	data, err := whole.Read(file, whole.Small)
	if errors.Is(err, fs.ErrNotExist) {
		return &Progress{Format: Format, Exercises: map[string]*Entry{}}, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseProgress(file, data)
}

// ParseProgress reads the text of a progress. Errors call it by the name of its file.
func ParseProgress(file string, data []byte) (*Progress, error) {
	p := &Progress{Format: Format, Exercises: map[string]*Entry{}}
	text, err := plain.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := yaml.UnmarshalStrict([]byte(strings.Join(text.Lines, "\n")), p); err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", file, err)
	}
	if p.Format != Format {
		return nil, fmt.Errorf("%s is of format %d; this labctl reads format %d", file, p.Format, Format)
	}
	if p.Exercises == nil {
		p.Exercises = map[string]*Entry{}
	}
	for name, e := range p.Exercises {
		if e == nil {
			delete(p.Exercises, name)
		}
	}
	return p, nil
}

// Write replaces the file as a whole.
func (p *Progress) Write(file string) error {
	data, err := yaml.Marshal(p)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = whole.Write(file, append([]byte(head), data...), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the progress: %w", err)
	}
	return nil
}

// ChangeProgress reads the file, has the progress changed and writes it. Until then no other process changes it, so change must not
// take long. If change fails nothing is written. It returns the error of change as it is.
func ChangeProgress(file string, change func(*Progress) error) error {
	release, err := hold(file + ".lock")
	if err != nil {
		return fmt.Errorf("write the progress: %w", err)
	}
	defer release()
	p, err := ReadProgress(file)
	if err != nil {
		return err
	}
	if err := change(p); err != nil {
		return err
	}
	return p.Write(file)
}

// The progress is held for milliseconds. Who does not get it for so long meets a process that was stopped.
const (
	holdLimit = 10 * time.Second
	holdRetry = 10 * time.Millisecond
)

// hold takes the lock file, which stays where it is.
func hold(file string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(holdLimit); ; time.Sleep(holdRetry) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err == syscall.EWOULDBLOCK && time.Now().Before(end) {
			continue
		}
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: file, Err: err}
	}
}

// Start begins an exercise, or goes on with one that was begun, and makes it the current one.
func (p *Progress) Start(e Exercise, now time.Time) (entry *Entry, resumed bool) {
	p.Current = e.Name
	entry, resumed = p.Exercises[e.Name]
	if !resumed {
		entry = &Entry{Started: now.UTC().Truncate(time.Millisecond)}
		p.Exercises[e.Name] = entry
	}
	return entry, resumed
}

// Open returns the entry of an exercise, begun if need be. The current exercise stays the one that was started.
func (p *Progress) Open(e Exercise, now time.Time) *Entry {
	current := p.Current
	entry, _ := p.Start(e, now)
	if current != "" {
		p.Current = current
	}
	return entry
}

// Reset forgets what was done of an exercise.
func (p *Progress) Reset(e Exercise) { delete(p.Exercises, e.Name) }

// Next returns the exercise to go on with: the current one until it is passed, then the next that is not, from the first again
// after the last.
func (p *Progress) Next(all []Exercise) (Exercise, bool) {
	at := max(0, slices.IndexFunc(all, func(e Exercise) bool { return e.Name == p.Current }))
	for i := range all {
		if e := all[(at+i)%len(all)]; !p.passed(e) {
			return e, true
		}
	}
	return Exercise{}, false
}

func (p *Progress) passed(e Exercise) bool {
	entry := p.Exercises[e.Name]
	return entry != nil && entry.Passed != nil
}

// The states of an exercise.
const (
	Untouched = "-"
	Begun     = "begun"
	Passed    = "passed"
)

// State tells an exercise's progress in a word.
func (p *Progress) State(e Exercise) string {
	switch entry := p.Exercises[e.Name]; {
	case entry == nil:
		return Untouched
	case entry.Passed != nil:
		return Passed
	default:
		return Begun
	}
}

// Answer notes an answer. The error says why it can't be one.
func (n *Entry) Answer(q Question, value string, now time.Time) error {
	value = strings.TrimSpace(value)
	if !q.Answered() {
		return fmt.Errorf("%s is not answered in words: %s", q.ID, q.Ask)
	}
	if err := q.readable(value); err != nil {
		return err
	}
	if n.Answers == nil {
		n.Answers = map[string]string{}
	}
	n.Answers[q.ID] = value
	n.note(q, now)
	return nil
}

// Since is the moment from which what a question asks to be done counts: the exercise was begun, and the predictions about the
// question were made. Those about no question are about what is to be seen.
func (n *Entry) Since(e Exercise, question string) time.Time {
	from := n.Started
	for _, q := range e.Questions {
		if at := n.Predicted[q.ID].At; q.Kind == Prediction && q.Of == question && at.After(from) {
			from = at
		}
	}
	return from
}

// readable reports whether a value is of the kind that the question takes.
func (q Question) readable(value string) error {
	_, option := q.Options[letter(value)]
	switch {
	case value == "":
		return fmt.Errorf("%s is empty", q.ID)
	case len(q.Options) > 0 && !option:
		return fmt.Errorf("%s: %q is none of the options %s", q.ID, value, strings.Join(letters(q.Options), ", "))
	case q.Kind == Prediction && len(q.Options) == 0, q.Kind == Reading, q.Kind == Count:
		if _, err := plain.ParseNumber(value); err != nil {
			return fmt.Errorf("%s: %w", q.ID, err)
		}
	}
	return nil
}

// letter is the option that was meant: "B", "b)" and `"b"` are b.
func letter(value string) string { return strings.ToLower(strings.Trim(plain.Typed(value), `"').( `)) }

// note keeps when a prediction was first read in its present words. What was seen before one was changed that is about what is
// to be seen has to be seen again.
func (n *Entry) note(q Question, now time.Time) {
	value := n.Answers[q.ID]
	if q.Kind != Prediction || value == "" || n.Predicted[q.ID].Value == value {
		return
	}
	if n.Predicted == nil {
		n.Predicted = map[string]Guess{}
	}
	if q.Of == "" && n.Predicted[q.ID].Value != "" && n.Passed == nil {
		clear(n.Seen)
	}
	n.Predicted[q.ID] = Guess{Value: value, At: now.UTC().Truncate(time.Millisecond)}
}
