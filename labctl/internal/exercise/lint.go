package exercise

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise/recorded"
)

// Proof is what shows that an exercise can be solved: the entry of one who did, and the runs that were made.
type Proof struct {
	Entry Entry
	Runs  []recorded.Run
}

// The places of a proof in an exercise's folder.
const (
	ProofEntry = "testdata/solved.yaml"
	ProofRuns  = "testdata/runs"
)

// ReadEntry reads a proof's entry.
func ReadEntry(data []byte) (Entry, error) {
	var entry Entry
	err := yaml.UnmarshalStrict(data, &entry)
	return entry, err
}

// Finding is the lint of one exercise.
type Finding struct {
	Exercise string   `json:"exercise"`
	Problems []string `json:"problems"`
	// Recorded are the questions that no machine judges.
	Recorded []string `json:"recorded"`
	// Proven is whether the exercise was shown to fail unsolved and to pass solved.
	Proven bool `json:"proven"`
}

// Lint looks for what an author may have forgotten. Without a proof the exercise is not shown to be solvable.
func Lint(root fs.FS, e Exercise, proof *Proof) Finding {
	f := Finding{Exercise: e.Name, Problems: []string{}, Recorded: []string{}}
	f.texts(e)
	f.giveaways(e)
	f.strays(root, e)
	f.sources(e)
	for _, q := range e.Questions {
		if !q.Checked() {
			f.Recorded = append(f.Recorded, q.ID)
		}
	}
	if proof != nil {
		f.unsolved(e, *proof)
		f.solved(e, *proof)
		f.Proven = len(f.Problems) == 0
	}
	return f
}

func (f *Finding) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// longest is how long a README may be: two screens.
const longest = 64

func (f *Finding) texts(e Exercise) {
	for _, part := range []string{"**Goal.**", "## Predict", "## Do", "## Observe", "## Explain"} {
		if !strings.Contains(e.Readme, part) {
			f.problem("%s has no %q", readmeFile, part)
		}
	}
	if n := strings.Count(e.Readme, "\n"); n > longest {
		f.problem("%s has %d lines, more than two screens (%d)", readmeFile, n, longest)
	}
	if len(e.Hints) < 2 {
		f.problem("%s has %d hints, separated by ---; two or more lead from a nudge to nearly there", hintsFile, len(e.Hints))
	}
	if strings.TrimSpace(e.Solution) == "" {
		f.problem("%s is empty", solutionFile)
	}
	if !slices.ContainsFunc(e.Questions, func(q Question) bool { return q.Kind == Prediction }) && !strings.Contains(e.Readme, "Before you look") {
		f.problem("nothing is predicted")
	}
}

// giveaways looks for what could be read or copied before its time.
func (f *Finding) giveaways(e Exercise) {
	predicted := slices.ContainsFunc(e.Questions, func(q Question) bool { return q.Kind == Prediction })
	if predicted && e.Questions[0].Kind != Prediction {
		f.problem("question %s stands before the first prediction, so it is shown before that is made", e.Questions[0].ID)
	}
	for _, q := range e.Questions {
		if q.Kind == Prediction && !strings.Contains(e.Readme, " "+q.ID+"=") {
			f.problem("%s does not say where %s is to be written down", readmeFile, q.ID)
		}
		for _, word := range e.blanks(q.ID) {
			if slices.Contains([]Kind{Choice, Prediction, Reading}, q.Kind) && q.readable(word) == nil {
				f.problem("%s shows %s=%s, which counts as an answer if it is copied; write %s", readmeFile, q.ID, word, q.blank())
			}
		}
	}
}

func (f *Finding) strays(root fs.FS, e Exercise) {
	entries, err := fs.ReadDir(root, e.Name)
	if err != nil {
		f.problem("%v", err)
	}
	for _, entry := range entries {
		if !slices.Contains([]string{readmeFile, dataFile, hintsFile, solutionFile, path.Dir(ProofRuns)}, entry.Name()) {
			f.problem("%s does not belong into an exercise's folder", entry.Name())
		}
	}
}

// sources verifies those that cite client-go.
func (f *Finding) sources(e Exercise) {
	for _, s := range e.Source {
		place, name, _ := strings.Cut(s, " ")
		if !strings.Contains(place, ".go:") {
			continue
		}
		c, err := source.Parse(place)
		if err != nil {
			f.problem("source %q: %v", s, err)
		} else if ok, _, reason := c.Verify(source.Version, name); !ok {
			f.problem("source %q: %s", s, reason)
		}
	}
}

// unsolved takes away or spoils each part of the proof: the exercise must not pass.
func (f *Finding) unsolved(e Exercise, proof Proof) {
	f.mustFail("nothing is answered", e, Entry{Started: proof.Entry.Started}, proof.Runs)
	for _, q := range e.Questions {
		entry := proof.Entry.clone()
		delete(entry.Answers, q.ID)
		delete(entry.Seen, q.ID)
		switch {
		case q.Kind == Measured:
			f.mustFail("question "+q.ID+" was not run", e, entry, without(proof.Runs, *q.Run))
		case q.Kind == Prediction:
			delete(entry.Predicted, q.ID)
			f.mustFail("question "+q.ID+" is not answered", e, entry, proof.Runs)
		default:
			f.mustFail("question "+q.ID+" is not answered", e, entry, proof.Runs)
		}
		for option := range q.Options {
			if q.Kind == Choice && option != q.Correct {
				entry := proof.Entry.clone()
				entry.Answers[q.ID] = option
				f.mustFail("question "+q.ID+" is answered with "+option, e, entry, proof.Runs)
			}
		}
	}
}

func (f *Finding) mustFail(when string, e Exercise, entry Entry, runs []recorded.Run) {
	if r := Judge(e, &entry, proofEvidence(runs)); r.Verdict == check.Pass {
		f.problem("it passes although %s", when)
	}
}

func (f *Finding) solved(e Exercise, proof Proof) {
	entry := proof.Entry.clone()
	r := Judge(e, &entry, proofEvidence(proof.Runs))
	for _, item := range r.Items {
		if item.Verdict != check.Pass {
			f.problem("solved, question %s does not pass: %s", item.ID, item.Reason)
		}
	}
}

func proofEvidence(runs []recorded.Run) Evidence {
	return Evidence{Runs: runs, NoLab: "there is none while an exercise is linted", ClientGo: source.Version, Now: time.Unix(1<<40, 0)}
}

func without(runs []recorded.Run, w Want) []recorded.Run {
	var kept []recorded.Run
	for _, r := range runs {
		r.Trials = slices.Clone(r.Trials)
		for i := range r.Trials {
			if t := (recorded.Trial{Run: &r, Trial: r.Trials[i]}); t.Mode == w.Mode && w.unlike(t) == "" {
				r.Trials[i].Mode = ""
			}
		}
		kept = append(kept, r)
	}
	return kept
}

func (n Entry) clone() Entry {
	n.Answers, n.Predicted, n.Seen = maps.Clone(n.Answers), maps.Clone(n.Predicted), maps.Clone(n.Seen)
	return n
}
