package evidence

import (
	"fmt"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// What is what is wrong with an archive, in a word.
type What string

// The words for what is wrong.
const (
	Unreadable    What = "unreadable"    // no archive of evidence, or one beyond the limits
	Empty         What = "empty"         // nothing in it could be judged
	Truncated     What = "truncated"     // it ends before its end
	Damaged       What = "damaged"       // its compressed bytes were changed: from some file on nothing can be read
	Repacked      What = "repacked"      // its content may be whole, but another program packed it
	Version       What = "version"       // of a format or schema that this labctl does not read
	Edited        What = "edited"        // a file is not what the manifest says
	Missing       What = "missing"       // a file that the manifest names, or that a run has, is not there
	Extra         What = "extra"         // a file that the manifest does not name
	Name          What = "name"          // a file whose name can't be in an archive
	Contradiction What = "contradiction" // numbers that can't all be true
	Clock         What = "clock"         // times that can't be told apart from edited ones
	ClassWrong    What = "class"         // not of this class, or phases that its nonce did not draw
	Copied        What = "copied"        // the same run as in another archive
	Twice         What = "twice"         // two archives of one student
)

// Finding is one thing that is wrong with an archive, or can't be told.
type Finding struct {
	Verdict check.Verdict `json:"verdict"` // fail or unknown
	What    What          `json:"what"`
	File    string        `json:"file"` // in the archive; empty for the archive itself
	Reason  string        `json:"reason"`
}

// findings collects them. Texts of the archive are made visible.
type findings []Finding

func (f *findings) fail(what What, file, format string, args ...any) {
	*f = append(*f, Finding{check.Fail, what, timeline.Visible(file), timeline.Visible(fmt.Sprintf(format, args...))})
}

func (f *findings) unknown(what What, file, format string, args ...any) {
	*f = append(*f, Finding{check.Unknown, what, timeline.Visible(file), timeline.Visible(fmt.Sprintf(format, args...))})
}

// verdict is Fail if any of them is, else Unknown if any is, else Pass.
func (f findings) verdict() check.Verdict {
	checks := []check.Check{{Verdict: check.Pass}}
	for _, one := range f {
		checks = append(checks, check.Check{Verdict: one.Verdict})
	}
	return check.Overall(checks)
}

// cut leaves so many findings, and says how many more there are. The verdict stays what it is.
func (f findings) cut() findings {
	n := len(f) - mostFindings
	if n <= 0 {
		return f
	}
	kept, rest := f[:mostFindings:mostFindings], f[mostFindings:]
	return append(kept, Finding{rest.verdict(), rest[0].What, "", report.Count(n, "more finding") + ", from this word on"})
}

// has reports whether one of them is of that kind.
func (f findings) has(what What) bool {
	for _, one := range f {
		if one.What == what {
			return true
		}
	}
	return false
}
