package evidence

import (
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// Compare holds archives against each other, and against the class that they should be of, if one is given. What it finds
// is added to the results.
func Compare(results []Result, class *Class) {
	for i := range results {
		results[i].belongs(class)
	}
	first := map[string]int{}
	for i := range results {
		if m := results[i].member; m != nil {
			if j, again := first[m.Class.Nonce+m.Student]; again {
				alike := ""
				if results[i].Head == results[j].Head {
					alike = ", with the same head of the hash chain"
				}
				results[i].add(Finding{check.Unknown, Twice, "", fmt.Sprintf("student %s has handed in %s, too%s", m.Student, results[j].Archive, alike)})
				continue
			}
			first[m.Class.Nonce+m.Student] = i
		}
	}
	seen := make([]map[string]string, len(results))
	for i := range results {
		seen[i] = results[i].prints()
	}
	shared := make([]sharings, len(results))
	for i := range results {
		for j := range results[:i] {
			copied(&results[i], &results[j], seen[i], seen[j], &shared[i], &shared[j])
		}
	}
	for i := range results {
		for _, s := range shared[i] {
			results[i].add(s.finding())
		}
	}
}

func (r *Result) add(f Finding) {
	r.Findings = append(r.Findings, f)
	r.Verdict = findings(r.Findings).verdict()
}

// belongs looks whether an archive is of the class.
func (r *Result) belongs(class *Class) {
	switch {
	case class == nil || len(r.Runs) == 0 && r.member == nil:
	case r.member == nil:
		r.add(Finding{check.Unknown, ClassWrong, manifestFile, "it was made without a class: whose it is can't be told"})
	case r.member.Class.Nonce != class.Nonce:
		r.add(Finding{check.Fail, ClassWrong, manifestFile, fmt.Sprintf("it is of another class, %s", r.member.Class.Name)})
	}
}

// trace is what no two runs have in common: when it began with its seed, the pod that a fault was done to, or the pauses
// between a fault and the writes of the Lease after it, in nanoseconds.
type trace struct {
	text  string
	trial int  // 0 for the whole run
	pod   bool // which runs of one machine may share
}

func (own run) traced() []trace {
	out := []trace{{text: fmt.Sprint("begun ", own.StartedAt.UnixNano(), own.seed)}}
	faults, writes := map[int]timeline.Event{}, map[int][]string{}
	for _, e := range own.events {
		switch {
		case e.Kind == timeline.FaultIssued:
			faults[e.Lane], writes[e.Lane] = e, nil
			if e.Fault.UID != "" {
				out = append(out, trace{text: "pod " + e.Fault.UID, pod: true})
			}
		case e.Kind == timeline.LeaseSeen && faults[e.Lane].Kind != "":
			writes[e.Lane] = append(writes[e.Lane], fmt.Sprintf("%.9f", e.Seconds-faults[e.Lane].Seconds))
			if len(writes[e.Lane]) == printedWrites {
				out = append(out, trace{text: fmt.Sprint("writes ", writes[e.Lane]), trial: faults[e.Lane].Trial})
			}
		}
	}
	return out
}

// once returns the run that has a trial in common with this one, or all; empty if none of those seen before has. It is seen then.
func (own run) once(seen map[string]string) (same string) {
	for _, t := range own.traces {
		if name := seen[t.text]; name != "" && !t.pod {
			return name
		}
	}
	for _, t := range own.traces {
		seen[t.text] = own.Name
	}
	return ""
}

// prints are those of an archive's runs, and where in the archive each is.
func (r *Result) prints() map[string]string {
	out := map[string]string{}
	for _, own := range r.runs {
		for _, t := range own.traces {
			at := own.Name
			if t.trial > 0 {
				at = fmt.Sprintf("%s, trial %d", at, t.trial)
			}
			out[t.text] = at
		}
	}
	return out
}

// printedWrites is how many writes of the Lease make a print.
const printedWrites = 3

// sharing is a run that an archive has in common with others, and what follows for it.
type sharing struct {
	run     string // and which trial
	verdict check.Verdict
	other   string // the first archive that has it, too
	drawn   string // the student for whom the nonce drew it; empty if that is not known
	more    int    // further archives that have it
}

type sharings []sharing

// tell adds an archive to those that have a run in common with this one.
func (s *sharings) tell(run string, other *Result, theirs bool) {
	one := sharing{run: run, verdict: check.Unknown, other: other.Archive}
	if theirs {
		one.verdict, one.drawn = check.Fail, other.Student
	}
	for i := range *s {
		if was := &(*s)[i]; was.run == run && was.drawn == one.drawn && was.verdict == one.verdict {
			was.more++
			return
		}
	}
	*s = append(*s, one)
}

func (s sharing) finding() Finding {
	reason := fmt.Sprintf("its run %s is in %s, too", s.run, s.other)
	if s.more > 0 {
		reason += ", and in " + report.Count(s.more, "more archive")
	}
	if s.verdict == check.Fail {
		reason += ", and the nonce drew its phases for student " + s.drawn
	}
	return Finding{s.verdict, Copied, "", reason}
}

// copied notes of two archives that they have a run in common. Whose it is the class's nonce says, or nothing.
func copied(a, b *Result, ofA, ofB map[string]string, tellA, tellB *sharings) {
	var common []string
	for print, at := range ofA {
		if _, there := ofB[print]; there {
			common = append(common, at)
		}
	}
	if len(common) == 0 || a.member != nil && b.member != nil && *a.member == *b.member {
		return
	}
	slices.Sort(common)
	at := common[0]
	owns := func(r *Result) bool {
		for _, own := range r.runs {
			if strings.HasPrefix(at, own.Name) && r.member != nil && r.member.Drew(own.seed) {
				return true
			}
		}
		return false
	}
	mine, theirs := owns(a), owns(b)
	if !mine || theirs { // whose run it is for sure is not told of
		tellA.tell(at, b, theirs && !mine)
	}
	if !theirs || mine {
		tellB.tell(at, a, mine && !theirs)
	}
}
