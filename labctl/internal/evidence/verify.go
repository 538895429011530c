package evidence

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist"
	"academy.example/lab/labctl/internal/checklist/plain"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// Course is what answers are held against, and by which labctl.
type Course struct {
	Exercises []exercise.Exercise
	Lists     []checklist.List
	// Digests has the Digest of each exercise and checklist, by name.
	Digests map[string]string
	Version string // of this labctl
}

// Result is what was found in one archive.
type Result struct {
	Archive string `json:"archive"` // the file's name, as it was given
	// Verdict is that of the findings: whether the archive is whole and agrees with itself. It says nothing of the answers.
	Verdict  check.Verdict `json:"verdict"`
	Student  string        `json:"student,omitempty"`
	Class    string        `json:"class,omitempty"` // its name
	Head     string        `json:"head"`            // of the hash chain; empty if there is none
	Versions Versions      `json:"versions"`
	Findings []Finding     `json:"findings"`
	Runs     []RunResult   `json:"runs"`
	// Exercises and Checklists are judged again from the events.
	Exercises  []exercise.Result  `json:"exercises"`
	Checklists []checklist.Result `json:"checklists"`

	member *Membership // nil without a class
	runs   []run
}

// RunResult is a run of an archive, measured again.
type RunResult struct {
	Name    string        `json:"name"`
	Trials  int           `json:"trials"`
	Void    int           `json:"void"` // of them
	Verdict check.Verdict `json:"verdict"`
}

// run is a run with what it was measured from.
type run struct {
	recorded.Run
	seed   uint64
	modes  []string
	events []timeline.Event
	traces []trace
}

// Verify reads an archive, measures its trials again and judges the answers.
func Verify(name string, in io.Reader, course Course) Result {
	bundle, found := Open(in)
	r := Result{Archive: timeline.Visible(name), Findings: found, Runs: []RunResult{}, Exercises: []exercise.Result{}, Checklists: []checklist.Result{}}
	m := bundle.Manifest
	r.Student, r.Head = timeline.Visible(m.Student), timeline.Visible(m.Head)
	r.Versions = m.Versions.visible()
	if m.Class != nil {
		r.Class = timeline.Visible(m.Class.Name)
		if m.Class.Check() == nil && CheckStudent(m.Student) == nil {
			r.member = &Membership{Student: m.Student, Class: *m.Class}
		}
	}
	v := verifying{bundle: bundle, course: course, findings: found, seen: map[string]string{}}
	if m.Format == Format && !v.findings.has(Truncated) && !v.findings.has(Damaged) {
		v.all(&r)
	}
	if len(v.findings) == 0 && len(r.runs)+len(r.Exercises)+len(r.Checklists) == 0 {
		v.findings.fail(Empty, manifestFile, "nothing that could be judged was handed in: no run, no exercise and no checklist")
	}
	r.Findings, r.Verdict = v.findings.cut(), v.findings.verdict()
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	return r
}

// Unread is the result for what could not be opened, such as a folder.
func Unread(name, reason string) Result {
	var found findings
	found.fail(Unreadable, "", "%s", reason)
	return Result{Archive: timeline.Visible(name), Verdict: found.verdict(), Findings: found, Runs: []RunResult{}, Exercises: []exercise.Result{}, Checklists: []checklist.Result{}}
}

func (v Versions) visible() Versions {
	for _, text := range []*string{&v.Labctl, &v.Kubernetes, &v.ClientGo, &v.Go, &v.Platform} {
		*text = timeline.Visible(*text)
	}
	return v
}

type verifying struct {
	bundle   Bundle
	course   Course
	findings findings
	// unreadRun is whether a run is of a schema that is not read: what it would show is not known. spoiled is whether what is
	// wrong with a run is told already.
	unreadRun, spoiled bool
	seen               map[string]string // the traces of the runs so far, and whose each is
	undrawn            []string          // runs whose seed the class's nonce did not draw
}

// all measures and judges what the archive holds.
func (v *verifying) all(r *Result) {
	edited := map[string]bool{}
	for _, f := range v.findings {
		edited[f.File] = edited[f.File] || f.Verdict == check.Fail
	}
	names := map[string]bool{}
	for path := range v.bundle.Files {
		if rest, ok := strings.CutPrefix(path, "runs/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if own, ok := v.run(name, r.member, edited); ok && !v.again(own) {
			r.runs = append(r.runs, own)
			r.Runs = append(r.Runs, result(own))
		}
	}
	if n := len(v.undrawn); n > 0 {
		v.findings.unknown(ClassWrong, RunPath(v.undrawn[0], runFile), "the phases of %d of %s do not follow from the class's nonce and student %s, from this one on: they were made before the class was joined, with --seed, or by somebody else", n, report.Count(len(r.runs), "run"), r.Student)
	}
	slices.SortStableFunc(r.runs, func(a, b run) int { return a.StartedAt.Compare(b.StartedAt) })
	v.answers(r)
	for _, path := range slices.Sorted(maps.Keys(v.bundle.Files)) {
		if strings.HasPrefix(path, "checklists/") {
			v.checklist(path, r)
		}
	}
}

// again reports whether a run is an earlier one of the archive under another name, and tells of it.
func (v *verifying) again(own run) bool {
	same := own.once(v.seen)
	if same != "" {
		v.findings.unknown(Copied, RunPath(own.Name, runFile), "it is the run %s of this archive once more; it counts once", same)
	}
	return same != ""
}

func result(own run) RunResult {
	out := RunResult{Name: timeline.Visible(own.Name), Trials: len(own.Trials), Verdict: own.Verdict}
	for _, t := range own.Trials {
		if t.Void != "" {
			out.Void++
		}
	}
	return out
}

// recordedRuns are the runs as exercises take them.
func (r *Result) recordedRuns() []recorded.Run {
	var out []recorded.Run
	for _, own := range r.runs {
		out = append(out, own.Run)
	}
	return out
}

// answers judges each exercise that was begun, and holds what the progress says of it against that.
func (v *verifying) answers(r *Result) {
	data, ok := v.bundle.Files[progressFile]
	if !ok {
		return
	}
	progress, err := exercise.ParseProgress(progressFile, data)
	if err != nil {
		v.findings.fail(Contradiction, progressFile, "%v", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(progress.Exercises)) {
		entry := progress.Exercises[name]
		e, known := exercise.Find(v.course.Exercises, name)
		if !known || e.Name != name {
			v.findings.unknown(Version, progressFile, "this labctl has no exercise %q", name)
			continue
		}
		if why := v.otherAge(name); why != "" {
			v.findings.unknown(Version, progressFile, "%s", why)
		}
		v.times(name, entry)
		claimed := entry.Passed != nil
		judged := exercise.Judge(e, entry, exercise.Evidence{Runs: r.recordedRuns(), NoLab: "an archive has no lab that could be looked at",
			ClientGo: v.bundle.Manifest.Versions.ClientGo, Now: latest(entry)})
		r.Exercises = append(r.Exercises, visible(judged))
		if claimed && judged.Verdict != check.Pass && v.otherAge(name) == "" {
			v.unpassed(name, judged)
		}
	}
}

// unpassed tells that an exercise is marked as passed, which its events do not give.
func (v *verifying) unpassed(name string, judged exercise.Result) {
	for _, i := range judged.Items {
		if i.Verdict == check.Pass || v.spoiled && (i.Kind == exercise.Measured || i.Kind == exercise.Reading) {
			continue
		}
		say := v.findings.fail
		if i.Verdict == check.Unknown || !v.ours() || v.unreadRun {
			say = v.findings.unknown
		}
		say(Contradiction, progressFile, "%s is marked as passed; but %s: %s", name, i.ID, i.Reason)
		return
	}
}

// ours reports whether the archive was made by a labctl that judges as this one does.
func (v *verifying) ours() bool { return same(v.bundle.Manifest.Versions.Labctl, v.course.Version) }

// otherAge says that an exercise or checklist was another one when it was answered; empty if it was this one.
func (v *verifying) otherAge(name string) string {
	if was := v.bundle.Manifest.Course[name]; was != v.course.Digests[name] {
		return fmt.Sprintf("%s was another one when it was answered: its verdict is that of this labctl's", name)
	}
	return ""
}

// times holds the times of an entry against each other.
func (v *verifying) times(name string, entry *exercise.Entry) {
	wrong := func(what string, at time.Time) {
		if at.Before(entry.Started.Add(-time.Second)) {
			v.findings.fail(Contradiction, progressFile, "%s: %s before the exercise was begun", name, what)
		}
		if entry.Passed != nil && at.After(entry.Passed.Add(2*time.Second)) {
			v.findings.fail(Contradiction, progressFile, "%s: %s after the exercise was passed", name, what)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(entry.Predicted)) {
		if entry.Predicted[id].Value == entry.Answers[id] { // one that was changed later is noted when it is looked at
			wrong("the prediction "+id+" was made", entry.Predicted[id].At)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(entry.Seen)) {
		wrong(id+" was seen", entry.Seen[id].At)
	}
	if entry.Passed != nil {
		wrong("it was passed", *entry.Passed)
	}
}

// latest is the newest time of an entry: a verdict is of that moment, whenever it is computed again.
func latest(entry *exercise.Entry) time.Time {
	at := entry.Started
	if entry.Passed != nil && entry.Passed.After(at) {
		at = *entry.Passed
	}
	for _, g := range entry.Predicted {
		if g.At.After(at) {
			at = g.At
		}
	}
	for _, s := range entry.Seen {
		if s.At.After(at) {
			at = s.At
		}
	}
	return at
}

// visible makes the texts of a verdict visible, which quote answers and events.
func visible(r exercise.Result) exercise.Result {
	for i := range r.Items {
		r.Items[i].Reason, r.Items[i].Evidence = timeline.Visible(r.Items[i].Reason), timeline.Visible(r.Items[i].Evidence)
	}
	return r
}

// checklist judges a filled checklist. Which one it is its fields say: there may be several.
func (v *verifying) checklist(path string, r *Result) {
	text, err := plain.Decode(v.bundle.Files[path])
	if err != nil {
		v.findings.fail(Contradiction, path, "%v", err)
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(path, "checklists/"), ".md")
	for _, l := range v.course.Lists {
		if l.Name != name {
			continue
		}
		if why := v.otherAge(name); why != "" {
			v.findings.unknown(Version, path, "%s", why)
		}
		judged := l.Check(text, checklist.Evidence{ClientGo: v.bundle.Manifest.Versions.ClientGo, Run: func(name string) (recorded.Run, bool, error) {
			for _, own := range r.runs {
				if own.Name == name {
					return own.Run, true, nil
				}
			}
			return recorded.Run{}, false, nil
		}})
		for i := range judged.Items {
			item := &judged.Items[i]
			item.Value, item.Reason = timeline.Visible(item.Value), timeline.Visible(item.Reason)
		}
		r.Checklists = append(r.Checklists, judged)
		return
	}
	v.findings.unknown(Version, path, "this labctl has no checklist %q", name)
}

// lines counts the lines of a text.
func lines(data []byte) int { return bytes.Count(data, []byte("\n")) }
