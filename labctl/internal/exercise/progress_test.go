package exercise_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/timeline"
)

// snapshot is a lab with one replica that leads.
func snapshot(exercise.Proof) exercise.Snapshot {
	now := time.Now()
	return exercise.Snapshot{At: now, Replicas: 1, Ready: 1, Settled: true, Pods: []timeline.Pod{{Name: "a", Ready: true}}, Working: []string{"a"},
		Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: now}}
}

func TestProgress_survivesEditors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress", "lab.yaml")
	p, err := exercise.ReadProgress(file)
	if err != nil {
		t.Fatal(err)
	}
	e := find(t, "03")
	entry, resumed := p.Start(e, time.Now())
	q, _ := e.Question("predict-gap")
	if err := entry.Answer(q, " 15 s", time.Now()); err != nil || resumed {
		t.Fatalf("got %v, resumed %t", err, resumed)
	}
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	for name, text := range map[string]string{
		"CRLF": strings.ReplaceAll(string(data), "\n", "\r\n"), "BOM": "\xef\xbb\xbf" + string(data), "as it is": string(data),
	} {
		os.WriteFile(file, []byte(text), 0o600)
		p, err := exercise.ReadProgress(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		entry, resumed := p.Start(e, time.Now())
		if !resumed || entry.Predicted["predict-gap"].Value != "15 s" {
			t.Errorf("%s: got %+v, want the prediction", name, entry)
		}
	}
	for name, text := range map[string]string{"junk": "\x00\x01\x02", "other": "format: 9\n", "no YAML": "{{{", "unknown key": "format: 1\nanswer: 3\n", "empty": "\n"} {
		os.WriteFile(file, []byte(text), 0o600)
		if _, err := exercise.ReadProgress(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}

func TestAnswer_refusesWhatCanNotBeOne(t *testing.T) {
	e := find(t, "03")
	for id, value := range map[string]string{"predict-gap": "soon", "empty": "z", "run": "yes", "lock-gap": "", "why": "ab"} {
		q, _ := e.Question(id)
		if err := new(exercise.Entry).Answer(q, value, time.Now()); err == nil {
			t.Errorf("%s=%s: want an error", id, value)
		}
	}
	q, _ := e.Question("why")
	entry := exercise.Entry{}
	if err := entry.Answer(q, "“B”)", time.Now()); err != nil {
		t.Errorf("a letter in curly quotes: %v", err)
	}
}

func TestProgress_nextResumesJumpsAndEnds(t *testing.T) {
	all := load(t, os.DirFS(folder))
	p := &exercise.Progress{Exercises: map[string]*exercise.Entry{}}
	if e, _ := p.Next(all); e.Number() != "01" {
		t.Errorf("got %s, want 01", e.Number())
	}
	p.Start(all[6], time.Now())
	if e, _ := p.Next(all); e.Number() != "07" {
		t.Errorf("after a jump: got %s, want 07", e.Number())
	}
	now := time.Now()
	p.Exercises[all[6].Name].Passed = &now
	if e, _ := p.Next(all); e.Number() != "08" {
		t.Errorf("after 07 is passed: got %s, want 08", e.Number())
	}
	p.Current = all[len(all)-1].Name
	p.Exercises[p.Current] = &exercise.Entry{Passed: &now}
	if e, _ := p.Next(all); e.Number() != "01" {
		t.Errorf("after the last is passed: got %s, want 01", e.Number())
	}
	for _, e := range all {
		p.Exercises[e.Name] = &exercise.Entry{Passed: &now}
	}
	if e, more := p.Next(all); more {
		t.Errorf("all are passed, got %s", e.Name)
	}
}

func TestFind(t *testing.T) {
	all := load(t, os.DirFS(folder))
	for word, want := range map[string]string{"3": "03", "03": "03", "05-delete": "05", "crash": "07", "09-release-on-and-off": "09"} {
		if e, ok := exercise.Find(all, word); !ok || e.Number() != want {
			t.Errorf("%s: got %s, want %s", word, e.Name, want)
		}
	}
	for _, word := range []string{"", "0", "42", "x", "nothing"} {
		if e, ok := exercise.Find(all, word); ok {
			t.Errorf("%q: got %s", word, e.Name)
		}
	}
}

func TestProgress_takesNumbersWithoutQuotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lab.yaml")
	text := "format: 1\nexercises:\n  03-time-a-forced-failover:\n    started: 2026-11-30T09:00:00Z\n    answers: {rise: 1, lock-gap: 18.27, why: b, user-gap: 18.30 s}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := exercise.ReadProgress(file)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"rise": "1", "lock-gap": "18.27", "why": "b", "user-gap": "18.30 s"} {
		if got := p.Exercises["03-time-a-forced-failover"].Answers[id]; got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// Who changes a prediction about what is to be seen has to see it again; after the exercise was passed nothing is forgotten.
func TestEntry_AChangedPredictionForgetsWhatWasSeen(t *testing.T) {
	q := exercise.Question{ID: "p", Kind: exercise.Prediction, Options: map[string]string{"a": "x", "b": "y"}, Correct: "a"}
	now := time.Now()
	for _, passed := range []*time.Time{nil, &now} {
		entry := exercise.Entry{Passed: passed}
		for _, value := range []string{"a", "a", "b"} {
			if entry.Seen == nil {
				entry.Seen = map[string]exercise.Sight{"o": {At: now}}
			}
			if err := entry.Answer(q, value, now); err != nil {
				t.Fatal(err)
			}
			if _, seen := entry.Seen["o"]; seen != (passed != nil || value == "a") {
				t.Errorf("passed %t, %s: seen %t", passed != nil, value, seen)
			}
		}
	}
}
