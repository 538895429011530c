package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/whole"
)

// Record is a finished run as its folder tells it: what was asked for, and every event.
type Record struct {
	Path   string
	Info   RunInfo
	Events []timeline.Event
}

// FindRun returns the folder of a run: of a name in the folder of runs, such as latest, or of a path.
func FindRun(runs, run string) (string, error) {
	path := filepath.Join(runs, run)
	if strings.ContainsRune(run, filepath.Separator) || run == "." || run == ".." || !exists(path) && exists(run) {
		path = run
	}
	found, err := filepath.EvalSymlinks(path)
	if err == nil {
		found, err = filepath.Abs(found)
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return found, err
	case path == run:
		return "", &provider.Problem{Err: fmt.Errorf("there is no folder %s", path), Hint: "ls " + word(filepath.Dir(path))}
	case exists(filepath.Join(runs, latestRun)):
		return "", &provider.Problem{Err: fmt.Errorf("there is no run %q in %s", run, runs), Hint: "ls " + word(runs)}
	}
	hint := "labctl failover --force"
	if usual, err := RunsDir(); err != nil || runs != usual {
		hint += " --runs-dir " + word(runs)
	}
	return "", &provider.Problem{Err: fmt.Errorf("there is no run in %s", runs), Hint: hint}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// word makes a path one word of a shell's command.
func word(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$&;()<>|*?[]#~`!") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// ReadRecord reads run.json and timeline.jsonl of a run's folder. What was computed from them when it was recorded is not
// looked at.
func ReadRecord(path string) (Record, error) {
	r := Record{Path: path}
	info, err := ReadInfo(path)
	if err != nil {
		return r, err
	}
	r.Info = info
	if err := EachEvent(path, func(e timeline.Event) { r.Events = append(r.Events, e) }); err != nil {
		return r, err
	}
	return r, unread(path, r.together())
}

// together fails if the events are of other trials than run.json says: then the one or the other is of another run.
func (r Record) together() error {
	done := map[string]int{}
	for _, t := range timeline.Trials(r.Events) {
		if done[t.Mode]++; done[t.Mode] > r.Info.Trials*count(r.Info.Modes, t.Mode) {
			return fmt.Errorf("%s: run.json says %d trials of each of %q, and timeline.jsonl has trial %d of mode %q: they are not of one run",
				r.Path, r.Info.Trials, r.Info.Modes, done[t.Mode], t.Mode)
		}
	}
	return nil
}

func count(words []string, word string) (n int) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// ReadInfo reads run.json of a run's folder.
func ReadInfo(path string) (RunInfo, error) {
	r := Record{Path: path}
	err := unread(path, r.readInfo())
	return r.Info, err
}

// EachEvent hands on the events of a run's folder one by one.
func EachEvent(path string, on func(timeline.Event)) error {
	file := filepath.Join(path, "timeline.jsonl")
	in, err := whole.Open(file)
	if err != nil {
		return unread(path, err)
	}
	defer in.Close()
	if err := timeline.Each(in, on); err != nil {
		return unread(path, fmt.Errorf("%s: %w", file, err))
	}
	return nil
}

// unread says of an error what to look at; nil if there is none.
func unread(path string, err error) error {
	var missing *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &missing):
		return &provider.Problem{Err: fmt.Errorf("%s is no run's folder: it has no %s", path, filepath.Base(missing.Path)), Hint: "ls -l " + word(path)}
	default:
		return &provider.Problem{Err: err, Hint: "ls -l " + word(path)}
	}
}

func (r *Record) readInfo() error {
	file := filepath.Join(r.Path, "run.json")
	data, err := whole.Read(file, whole.Small)
	if err != nil {
		return err
	}
	r.Info, err = ParseInfo(file, data)
	return err
}

// ParseInfo reads the text of a run.json. Errors call it by the name of its file.
func ParseInfo(file string, data []byte) (RunInfo, error) {
	var info RunInfo
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("%s line %d: %w", file, lineOf(data, err), err)
	}
	if info.Schema != report.Schema || info.Kind != kindRun {
		return info, fmt.Errorf("%s is of schema %q and kind %q; this labctl reads %q and %q", file, info.Schema, info.Kind, report.Schema, kindRun)
	}
	if !info.Modelled() {
		return info, fmt.Errorf("%s: no operator runs with LeaseDuration %s, RetryPeriod %s and a pod start latency of %g s",
			file, info.Timing.LeaseDuration, info.Timing.RetryPeriod, info.PodStartLatencySeconds)
	}
	return info, nil
}

// lineOf is where in a JSON text an error is; the last line if the error does not say.
func lineOf(data []byte, err error) int {
	at := int64(len(data))
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &wrong):
		at = wrong.Offset
	}
	return 1 + bytes.Count(bytes.TrimRight(data[:min(at, int64(len(data)))], "\n"), []byte("\n"))
}

// Report measures the run's trials from its events and judges them.
func (r Record) Report() report.Failover {
	f := report.NewFailover(r.Info.Header, timeline.Trials(r.Events), r.Path)
	f.Requested = r.Info.Trials * len(r.Info.Modes)
	switch ended, note := r.ended(); {
	case !ended:
		f.CutShort("its record has no end; labctl was killed, or is still at it")
	case note != "":
		f.CutShort(note)
	case f.N < f.Requested:
		f.CutShort("its record does not say why")
	}
	return f
}

// ended reports whether the run came to an end that was recorded, and why before all trials were done.
func (r Record) ended() (ended bool, note string) {
	for _, e := range r.Events {
		if e.Kind == timeline.RunEnded {
			return true, e.Note
		}
	}
	return false, ""
}
