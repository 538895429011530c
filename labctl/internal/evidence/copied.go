package evidence

import (
	"fmt"
	"slices"
	"strings"

	"academy.example/lab/labctl/internal/check"
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
				results[i].add(Finding{check.Unknown, Twice, "", fmt.Sprintf("student %s has handed in %s, too", m.Student, results[j].Archive)})
				continue
			}
			first[m.Class.Nonce+m.Student] = i
		}
	}
	seen := make([]map[string]string, len(results))
	for i := range results {
		seen[i] = results[i].prints()
	}
	for i := range results {
		for j := range results[:i] {
			copied(&results[i], &results[j], seen[i], seen[j])
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

// prints are what no two runs have in common, and where in the archive it is: when it began, the pod that a fault was done to, and
// the pauses between a fault and the writes of the Lease after it, in nanoseconds.
func (r *Result) prints() map[string]string {
	out := map[string]string{}
	for _, own := range r.runs {
		out[fmt.Sprint("begun ", own.StartedAt.UnixNano(), own.seed)] = own.Name
		faults, writes := map[int]timeline.Event{}, map[int][]string{}
		for _, e := range own.events {
			switch {
			case e.Kind == timeline.FaultIssued:
				faults[e.Lane], writes[e.Lane] = e, nil
				if e.Fault.UID != "" {
					out["pod "+e.Fault.UID] = own.Name
				}
			case e.Kind == timeline.LeaseSeen && faults[e.Lane].Kind != "":
				writes[e.Lane] = append(writes[e.Lane], fmt.Sprintf("%.9f", e.Seconds-faults[e.Lane].Seconds))
				if len(writes[e.Lane]) == printedWrites {
					out[fmt.Sprint("writes ", writes[e.Lane])] = fmt.Sprintf("%s, trial %d", own.Name, faults[e.Lane].Trial)
				}
			}
		}
	}
	return out
}

// printedWrites is how many writes of the Lease make a print.
const printedWrites = 3

// copied tells of two archives with a run in common. Whose it is the class's nonce says, or nothing.
func copied(a, b *Result, ofA, ofB map[string]string) {
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
	tell := func(r, other *Result, own, others bool) {
		f := Finding{check.Unknown, Copied, "", fmt.Sprintf("its run %s is in %s, too", at, other.Archive)}
		if others && !own {
			f.Verdict, f.Reason = check.Fail, f.Reason+fmt.Sprintf(", and the nonce drew its phases for student %s", other.Student)
		}
		r.add(f)
	}
	if !mine || theirs { // whose run it is for sure is not told of
		tell(a, b, mine, theirs)
	}
	if !theirs || mine {
		tell(b, a, theirs, mine)
	}
}
