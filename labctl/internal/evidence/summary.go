package evidence

import (
	"encoding/csv"
	"fmt"
	"io"
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
	Verdict check.Verdict `json:"verdict"` // over the archives: whether each is whole and agrees with itself and the others
}

// Row is one archive.
type Row struct {
	Student string        `json:"student"` // the ID, or the archive's name without one
	Archive string        `json:"archive"`
	Verdict check.Verdict `json:"verdict"`
	// Marks are pass, fail or unknown for each column, and empty for what was not begun.
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
	for _, r := range results {
		s.Rows = append(s.Rows, r.row(s.Columns))
		checks = append(checks, check.Check{Verdict: r.Verdict})
		for _, own := range r.runs {
			if len(own.Edited) == 0 && !r.stolen() {
				runs = append(runs, own.Failover)
			}
		}
	}
	slices.SortStableFunc(s.Rows, func(a, b Row) int { return strings.Compare(a.Student, b.Student) })
	s.Verdict, s.Gaps = check.Overall(checks), report.Pools(runs)
	return s
}

// stolen reports whether the archive's runs are known to be another's.
func (r Result) stolen() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.What == Copied && f.Verdict == check.Fail })
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

// mark is a verdict in one letter.
func mark(v check.Verdict) string {
	switch v {
	case check.Pass:
		return "P"
	case check.Fail:
		return "F"
	case check.Unknown:
		return "?"
	default:
		return "-"
	}
}

// column is a column's short name: the number of an exercise, the name of a checklist.
func column(name string) string {
	if number, _, ok := strings.Cut(name, "-"); ok && len(number) == 2 {
		return number
	}
	return name
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
	for _, r := range s.Rows {
		fmt.Fprint(table, r.Student)
		for _, v := range r.Marks {
			fmt.Fprintf(table, "\t%s", mark(v))
		}
		fmt.Fprintf(table, "\t%d\t%d\t%s\n", r.Trials, r.Void, archive(r.Verdict))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "P passed, F failed, ? unknown, - not begun; judged again from the recorded events")
	first := true
	for _, r := range s.Rows {
		for _, f := range r.Findings {
			if first {
				fmt.Fprintln(out, "\nwhat is wrong with archives:")
				first = false
			}
			fmt.Fprintf(out, "  %s: %s\n", r.Student, f)
		}
	}
	if len(s.Gaps) > 0 {
		fmt.Fprintln(out, "\nthe class's lock gaps, of archives and runs that nobody changed:")
	}
	return report.PoolsText(out, s.Gaps)
}

// String tells a finding in one line.
func (f Finding) String() string {
	where := ""
	if f.File != "" {
		where = f.File + ": "
	}
	return fmt.Sprintf("%s, %s: %s%s", f.Verdict, f.What, where, f.Reason)
}

// CSV writes a line for each archive. A cell that a spreadsheet would take for a formula begins with an apostrophe.
func (s Summary) CSV(out io.Writer) error {
	w := csv.NewWriter(out)
	head := append([]string{"student", "archive", "verdict"}, s.Columns...)
	w.Write(append(head, "trials", "void", "findings")) // the first error sticks
	for _, r := range s.Rows {
		line := []string{cell(r.Student), cell(r.Archive), string(r.Verdict)}
		for _, v := range r.Marks {
			line = append(line, string(v))
		}
		var told []string
		for _, f := range r.Findings {
			told = append(told, f.String())
		}
		w.Write(append(line, strconv.Itoa(r.Trials), strconv.Itoa(r.Void), cell(strings.Join(told, "; "))))
	}
	w.Flush()
	return w.Error()
}

func cell(text string) string {
	if strings.IndexAny(text, "=+-@\t\r") == 0 {
		return "'" + text
	}
	return text
}

// Page is the summary as report.ClassHTML shows it.
func (s Summary) Page() report.ClassPage {
	p := report.ClassPage{Class: s.Class, Head: append([]string{"student"}, s.Columns...), Pools: s.Gaps}
	p.Head = append(p.Head, "trials", "void", "archive")
	for _, r := range s.Rows {
		row := report.ClassRow{Cells: []report.ClassCell{{Text: r.Student}}}
		for _, v := range r.Marks {
			row.Cells = append(row.Cells, report.ClassCell{Text: string(v), Verdict: v})
		}
		row.Cells = append(row.Cells, report.ClassCell{Text: strconv.Itoa(r.Trials)}, report.ClassCell{Text: strconv.Itoa(r.Void)}, report.ClassCell{Text: archive(r.Verdict), Verdict: r.Verdict})
		p.Rows = append(p.Rows, row)
		for _, f := range r.Findings {
			p.Findings = append(p.Findings, r.Student+": "+f.String())
		}
	}
	return p
}
