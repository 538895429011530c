package evidence

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/report"
)

// Summary is what a class's archives show together.
type Summary struct {
	Schema  string        `json:"schema"`
	Kind    string        `json:"kind"`
	Class   string        `json:"class,omitempty"` // its name, if its file was given
	Columns []string      `json:"columns"`         // the exercises and checklists, in order
	Rows    []Row         `json:"rows"`
	Gaps    []report.Pool `json:"gaps"`
	// CountedRuns are in the gaps. CopiedRuns are not, since each is another one once more, nor are the FailedRuns, of archives
	// that failed.
	CountedRuns int           `json:"countedRuns"`
	CopiedRuns  int           `json:"copiedRuns"`
	FailedRuns  int           `json:"failedRuns"`
	Verdict     check.Verdict `json:"verdict"` // over the archives: whether each is whole and agrees with itself and the others
}

// Row is one archive.
type Row struct {
	Student string        `json:"student"` // the ID, or the archive's name without one
	Archive string        `json:"archive"`
	Verdict check.Verdict `json:"verdict"`
	// Marks are pass, fail, open or unknown for each column, and empty for what was not begun.
	Marks    []check.Verdict `json:"marks"`
	Trials   int             `json:"trials"`
	Void     int             `json:"void"`
	Findings []Finding       `json:"findings"`
}

// KindSummary is the kind of a summary's JSON.
const KindSummary = "EvidenceSummary"

// Summarize puts archives side by side. They must have been compared.
func Summarize(results []Result, class *Class, course Course) Summary {
	s := Summary{Schema: report.Schema, Kind: KindSummary, Columns: []string{}, Rows: []Row{}}
	if class != nil {
		s.Class = class.Name
	}
	for _, e := range course.Exercises {
		s.Columns = append(s.Columns, e.Name)
	}
	for _, l := range course.Lists {
		s.Columns = append(s.Columns, l.Name)
	}
	checks := []check.Check{}
	var runs []report.Failover
	seen := map[string]string{}
	for _, r := range results {
		s.Rows = append(s.Rows, r.row(s.Columns))
		checks = append(checks, check.Check{Verdict: r.Verdict})
		for _, own := range r.runs {
			switch {
			case r.Verdict == check.Fail:
				s.FailedRuns++
			case own.once(seen) != "":
				s.CopiedRuns++
			default:
				runs = append(runs, own.Failover)
			}
		}
	}
	slices.SortStableFunc(s.Rows, func(a, b Row) int { return strings.Compare(a.Student, b.Student) })
	s.Verdict, s.Gaps, s.CountedRuns = check.Overall(checks), report.Pools(runs), len(runs)
	return s
}

// counted says which runs the gaps are of.
func (s Summary) counted() string {
	var out []string
	if n := s.CopiedRuns; n > 0 {
		out = append(out, report.Count(n, "copy")+" of them")
	}
	if n := s.FailedRuns; n > 0 {
		out = append(out, report.Count(n, "run")+" of archives that failed")
	}
	text := "of " + report.Count(s.CountedRuns, "run")
	if len(out) > 0 {
		text += "; left out: " + strings.Join(out, ", ")
	}
	return text
}

func (r Result) row(columns []string) Row {
	row := Row{Student: r.Student, Archive: r.Archive, Verdict: r.Verdict, Marks: make([]check.Verdict, len(columns)), Findings: r.Findings}
	if row.Student == "" {
		row.Student = r.Archive
	}
	for i, name := range columns {
		for _, e := range r.Exercises {
			if e.Exercise == name {
				row.Marks[i] = e.Verdict
				if e.Open {
					row.Marks[i] = report.Open
				}
			}
		}
		for _, l := range r.Checklists {
			if l.List == name {
				row.Marks[i] = l.Verdict
			}
		}
	}
	for _, own := range r.Runs {
		row.Trials += own.Trials
		row.Void += own.Void
	}
	return row
}

// column is a column's short name: the number of an exercise, the name of a checklist.
func column(name string) string {
	if number, _, ok := strings.Cut(name, "-"); ok && len(number) == 2 {
		return number
	}
	return name
}

// who returns for each row the student's ID, with the file's name where several archives have that ID.
func (s Summary) who() []string {
	archives := map[string]int{}
	for _, r := range s.Rows {
		archives[r.Student]++
	}
	var out []string
	for _, r := range s.Rows {
		name := r.Student
		if archives[name] > 1 && name != r.Archive {
			name += " (" + r.Archive + ")"
		}
		out = append(out, name)
	}
	return out
}

// archive tells a verdict on an archive in words.
func archive(v check.Verdict) string {
	if v == check.Pass {
		return "whole"
	}
	return string(v)
}

// Text writes the summary for a terminal.
func (s Summary) Text(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "STUDENT")
	for _, c := range s.Columns {
		fmt.Fprintf(table, "\t%s", column(c))
	}
	fmt.Fprintln(table, "\tTRIALS\tVOID\tARCHIVE")
	who := s.who()
	for i, r := range s.Rows {
		fmt.Fprint(table, who[i])
		for _, v := range r.Marks {
			fmt.Fprintf(table, "\t%s", report.Mark(v))
		}
		fmt.Fprintf(table, "\t%d\t%d\t%s\n", r.Trials, r.Void, archive(r.Verdict))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "P passed, F failed, o open (not done yet, and nothing wrong), ? unknown, - not begun; judged again from the recorded events")
	first := true
	for i, r := range s.Rows {
		for _, f := range r.Findings {
			if first {
				fmt.Fprintln(out, "\nwhat is wrong with archives:")
				first = false
			}
			fmt.Fprintf(out, "  %s: %s\n", who[i], f)
		}
	}
	if len(s.Gaps)+s.CopiedRuns+s.FailedRuns > 0 {
		fmt.Fprintf(out, "\nthe class's lock gaps, %s:\n", s.counted())
	}
	return report.PoolsText(out, s.Gaps)
}

// String tells a finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s, %s: %s", f.Verdict, f.What, f.where()) }

// where tells of which file, and why.
func (f Finding) where() string {
	if f.File == "" {
		return f.Reason
	}
	return f.File + ": " + f.Reason
}

// CSV writes a line for each archive. No cell is a formula, whichever separator a spreadsheet takes: each is quoted, and
// one that would be taken for a formula begins with an apostrophe.
func (s Summary) CSV(out io.Writer) error {
	var b strings.Builder
	line := func(cells ...string) {
		for i, text := range cells {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(cell(text))
		}
		b.WriteByte('\n')
	}
	line(slices.Concat([]string{"student", "archive", "verdict"}, s.Columns, []string{"trials", "void", "findings"})...)
	for _, r := range s.Rows {
		cells := []string{r.Student, r.Archive, string(r.Verdict)}
		for _, v := range r.Marks {
			cells = append(cells, string(v))
		}
		var told []string
		for _, f := range r.Findings {
			told = append(told, f.String())
		}
		line(append(cells, strconv.Itoa(r.Trials), strconv.Itoa(r.Void), strings.Join(told, "; "))...)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// cell is a text as a cell of CSV. Words and numbers of this package need no quotes.
func cell(text string) string {
	if plainCell.MatchString(text) {
		return text
	}
	if strings.IndexAny(strings.TrimLeft(text, " "), "=+-@\t\r＝＋－＠") == 0 {
		text = "'" + text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

var plainCell = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9._-]*)?$`)

// Page is the summary as report.ClassHTML shows it.
func (s Summary) Page() report.ClassPage {
	p := report.ClassPage{Class: s.Class, Counted: s.counted(), Pools: s.Gaps}
	for _, c := range s.Columns {
		p.Columns = append(p.Columns, report.ClassColumn{Short: column(c), Name: c})
	}
	who := s.who()
	for i, r := range s.Rows {
		p.Rows = append(p.Rows, report.ClassRow{Student: who[i], Archive: archive(r.Verdict), Verdict: r.Verdict, Marks: r.Marks, Trials: r.Trials, Void: r.Void})
		for _, f := range r.Findings {
			p.Findings = append(p.Findings, report.ClassFinding{Student: who[i], Verdict: f.Verdict, What: string(f.What), Text: f.where()})
		}
	}
	return p
}
