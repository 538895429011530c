package lab

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/timeline"
)

// fixture is a real run: two lanes, kill and graceful twice each.
const fixture = "../cmd/testdata/run"

// copied is the fixture, changed: a file whose content becomes nil is removed.
func copied(t *testing.T, file string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if data = change(data); data == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func removed([]byte) []byte { return nil }

func read(t *testing.T, dir string) Record {
	t.Helper()
	r, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The record of a real run gives exactly what was measured live. After an intended change of what is measured or judged,
// `labctl report --json` of the fixture is its new trials.json, with the old value of run.
func TestRecord_GivesTheTrialsThatWereRecorded(t *testing.T) {
	r := read(t, fixture)
	f := r.Report()
	recorded, err := os.ReadFile(filepath.Join(fixture, "trials.json"))
	if err != nil {
		t.Fatal(err)
	}
	var path struct{ Run string }
	if err := json.Unmarshal(recorded, &path); err != nil {
		t.Fatal(err)
	}
	f.Run = path.Run // the folder it was recorded in
	again, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(again, '\n'), recorded) {
		t.Errorf("the events give\n%s\ntrials.json says\n%s", again, recorded)
	}
	if f.N != 4 || f.Requested != 4 || f.Cut != "" || f.Verdict != check.Pass {
		t.Errorf("got %d of %d trials, cut %q, %s", f.N, f.Requested, f.Cut, f.Verdict)
	}
	if got, err := r.Contradictions(f.Trials); err != nil || len(got) > 0 {
		t.Errorf("contradictions: %v, %v", got, err)
	}
}

func TestRecord_Contradictions(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"no trials.json": {removed, ""},
		"another winner": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"winner": "replacement"`), []byte(`"winner": "standby"`), 1)
		}, `trial 1: trials.json says winner "standby", the events say "replacement"`},
		"a figure that was not seen": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"standbys": 1,`), []byte(`"standbys": 1, "void": "no",`), 1)
		}, `trial 1: trials.json says void "no", the events say null`},
		"a trial less": {func([]byte) []byte { return []byte(`{"trials":[null]}`) }, "trials.json says that 1 trials were done, the events say 4"},
		"null trials":  {func([]byte) []byte { return []byte(`{"trials":[null,null,null,null]}`) }, "trial 1: trials.json says class null"},
		"nonsense":     {func([]byte) []byte { return []byte("{\n\"n\": x}") }, "trials.json can't be read (line 2: "},
	} {
		r := read(t, copied(t, "trials.json", c.change))
		got, err := r.Contradictions(r.Report().Trials)
		if err != nil || (len(got) == 0) != (c.want == "") || len(got) > 0 && !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestRecord_CutShort(t *testing.T) {
	lines := func(change func([][]byte) [][]byte) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Join(change(bytes.SplitAfter(b, []byte("\n"))), nil) }
	}
	last := func(l [][]byte) int { return len(l) - 2 } // after the last line end there is an empty rest
	for name, c := range map[string]struct {
		change func([]byte) []byte
		n      int
		cut    string
	}{
		"killed after its last trial":    {lines(func(l [][]byte) [][]byte { return l[:last(l)] }), 4, "its record has no end"},
		"killed in the middle of a line": {lines(func(l [][]byte) [][]byte { l[last(l)] = l[last(l)][:9]; return l }), 4, "its record has no end"},
		"killed in a trial":              {func(b []byte) []byte { return b[:len(b)/2] }, 0, "its record has no end"},
		"interrupted": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"kind":"run-ended"`), []byte(`"kind":"run-ended","note":"it was interrupted"`), 1)
		}, 4, "it was interrupted"},
		"without a word": {func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"kind":"trial-ended"`), []byte(`"kind":"run-started"`), 1)
		}, 3, "its record does not say why"},
	} {
		f := read(t, copied(t, "timeline.jsonl", c.change)).Report()
		if c.n > 0 && f.N != c.n || f.Requested != 4 || !strings.HasPrefix(f.Cut, c.cut) || f.Verdict == check.Pass {
			t.Errorf("%s: got %d of %d trials, cut %q, %s; want %d of 4, %q and no pass", name, f.N, f.Requested, f.Cut, f.Verdict, c.n, c.cut)
		}
	}
}

func TestReadRecord_WhatIsWrongIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		"no run.json":         {"run.json", removed, "is no run's folder: it has no run.json"},
		"no timeline":         {"timeline.jsonl", removed, "is no run's folder: it has no timeline.jsonl"},
		"half a run.json":     {"run.json", func(b []byte) []byte { return b[:40] }, "run.json line 3: unexpected end"},
		"a word for a number": {"run.json", func(b []byte) []byte { return bytes.Replace(b, []byte("true"), []byte("3"), 1) }, "run.json line 10: json: cannot unmarshal number"},
		"something else":      {"run.json", func(b []byte) []byte { return []byte("{}") }, `run.json is of schema "" and kind ""; this labctl reads "lab/v1" and "Run"`},
		"trials of another run": {"run.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"trialsPerMode": 2`), []byte(`"trialsPerMode": 1`), 1)
		}, "they are not of one run"},
		"a newer format": {"run.json", func(b []byte) []byte { return bytes.Replace(b, []byte(`"lab/v1"`), []byte(`"lab/v2"`), 1) },
			`run.json is of schema "lab/v2" and kind "Run"; this labctl reads "lab/v1" and "Run"`},
		"a clock that jumped back": {"timeline.jsonl", func(b []byte) []byte { return append(b, []byte(`{"t":1,"kind":"run-ended"}`+"\n")...) }, "t runs backwards, from"},
		"a clock that jumped on":   {"timeline.jsonl", func(b []byte) []byte { return append(b, []byte(`{"t":1e9,"kind":"run-ended"}`+"\n")...) }, "t is out of range: 1e+09"},
		"nonsense in a line":       {"timeline.jsonl", func(b []byte) []byte { return bytes.Replace(b, []byte("\n{"), []byte("\nx{"), 1) }, "timeline.jsonl: timeline line 2: invalid character"},
		"a line without parts":     {"timeline.jsonl", func(b []byte) []byte { return append([]byte("{\"kind\":\"pod\"}\n"), b...) }, "timeline line 1: an event of kind pod without"},
	} {
		dir := copied(t, c.file, c.change)
		if _, err := ReadRecord(dir); err == nil || !strings.Contains(err.Error(), c.want) || hintOf(err) != "ls -l "+dir {
			t.Errorf("%s: got %v with hint %q; want %q", name, err, hintOf(err), c.want)
		}
	}
}

// Two events in the wrong order give the same lock gaps, or none: never others.
func TestRecord_EventsOutOfOrderGiveNoOtherNumber(t *testing.T) {
	events := read(t, fixture).Events
	want := timeline.Trials(events)
	swapped, lost := 0, 0
	for i := range events[:len(events)-1] {
		if events[i].Kind == timeline.LogLine && events[i+1].Kind == timeline.LogLine || events[i].Kind == timeline.WorkSeen || events[i+1].Kind == timeline.WorkSeen {
			continue // of which there are many, and no lock gap is of them
		}
		changed := slices.Clone(events)
		changed[i], changed[i+1] = changed[i+1], changed[i]
		swapped++
		for j, got := range timeline.Trials(changed) {
			switch {
			case got.LockGapSeconds == nil:
				lost++
			case *got.LockGapSeconds != *want[j].LockGapSeconds:
				t.Errorf("lines %d and %d (%s, %s) swapped: got a lock gap of %.6f s in trial %d, want %.6f s or none", i+1, i+2, events[i].Kind, events[i+1].Kind,
					*got.LockGapSeconds, j+1, *want[j].LockGapSeconds)
			}
		}
	}
	if swapped < 100 {
		t.Errorf("only %d events were swapped", swapped)
	}
	t.Logf("%d swapped, %d lock gaps lost", swapped, lost)
}

func TestFindRun(t *testing.T) {
	runs := t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	if _, err := FindRun(runs, "latest"); err == nil || hintOf(err) != "labctl failover --force --runs-dir "+runs {
		t.Errorf("no run yet: got %v with hint %q", err, hintOf(err))
	}
	for _, dir := range []string{filepath.Join(runs, "one"), "here"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := latest(runs, "one"); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs("here")
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]string{"latest": filepath.Join(runs, "one"), "one": filepath.Join(runs, "one"), "here": here, "./here": here, here: here} {
		if got, err := FindRun(runs, run); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", run, got, err, want)
		}
	}
	for run, hint := range map[string]string{"two": "ls " + runs, "./two": "ls .", runs + "/x y/z": "ls '" + runs + "/x y'"} {
		if got, err := FindRun(runs, run); err == nil || hintOf(err) != hint {
			t.Errorf("%s: got %s, %v with hint %q; want the hint %q", run, got, err, hintOf(err), hint)
		}
	}
}
