package evidence

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/report"
)

// summed verifies and compares archives, and puts them side by side. The names are those of the files.
func summed(t *testing.T, archives map[string][]byte, order ...string) Summary {
	t.Helper()
	known, own := course(t), class(t)
	var results []Result
	for _, name := range order {
		results = append(results, Verify(name, bytes.NewReader(archives[name]), known))
	}
	Compare(results, &own)
	return Summarize(results, &own, known)
}

// gaps counts the gaps and the runs of a summary's pools.
func gaps(s Summary) (n, runs int) {
	for _, p := range s.Gaps {
		n, runs = n+p.N, runs+p.Runs
	}
	return n, runs
}

// TestSummary_CountsEachRunOnce has an archive, a copy of the file, and one with an edited byte: the gaps are those of the first.
func TestSummary_CountsEachRunOnce(t *testing.T) {
	once := packedOf(t, student(t, 7))
	edited := unhashed(func(t *testing.T, b *Bundle, _ *[]string) {
		replace(t, b, inForced(eventsFile), `"leaseTransitions":`, `"leaseTransitions":1`)
	})(t, once)
	files := map[string][]byte{"07.tar.gz": once, "09.tar.gz": once, "edited.tar.gz": edited}
	alone := summed(t, files, "07.tar.gz")
	all := summed(t, files, "edited.tar.gz", "07.tar.gz", "09.tar.gz")
	wantGaps, wantRuns := gaps(alone)
	if n, runs := gaps(all); n != wantGaps || runs != wantRuns || n == 0 {
		t.Errorf("%d gaps in %d rows' runs, want %d in %d", n, runs, wantGaps, wantRuns)
	}
	if all.CountedRuns != alone.CountedRuns || all.CopiedRuns != alone.CountedRuns || all.FailedRuns != alone.CountedRuns {
		t.Errorf("%d runs counted, %d copied, %d failed; want %d of each", all.CountedRuns, all.CopiedRuns, all.FailedRuns, alone.CountedRuns)
	}
	var text bytes.Buffer
	if err := all.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\ns07 (07.tar.gz) ", "\ns07 (09.tar.gz) ", "\n  s07 (edited.tar.gz): fail, edited: ", "with the same head", " of them, "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	page := all.Page()
	if page.Rows[0].Student != "s07 (edited.tar.gz)" || !strings.HasPrefix(page.Findings[0].Student, "s07 (") {
		t.Errorf("%+v", page.Rows[0])
	}
}

// TestVerify_ARunTwiceInAnArchive_CountsOnce has a copy of a run's folder under another name.
func TestVerify_ARunTwiceInAnArchive_CountsOnce(t *testing.T) {
	b := small(t)
	for _, file := range []string{runFile, eventsFile, trialsFile} {
		b.Files[RunPath("copy", file)] = b.Files[inForced(file)]
	}
	r := Verify("a.tar.gz", bytes.NewReader(packedOf(t, b)), course(t))
	if len(r.Runs) != 1 || len(r.Findings) == 0 || r.Findings[0].What != Copied || r.Findings[0].File != RunPath("copy", runFile) {
		t.Errorf("%d runs, %v", len(r.Runs), r.Findings)
	}
}

// formulas are names that spreadsheets compute; in some countries they part cells at semicolons.
var formulas = []string{`=1+1`, `+1`, `-1`, `@SUM(A1)`, ` =1+1`, `＝1+1`, `x;=1+1`, `x";=1+1`, `x,=1+1`, "x\n=1+1", `=HYPERLINK("http://a","b")`}

func TestSummary_CSV_NoCellIsAFormula(t *testing.T) {
	b := small(t)
	for _, evil := range formulas {
		b.Manifest.Student, b.Manifest.Class.Name = evil, evil
		b.Files[progressFile] = []byte("format: 1\nexercises:\n  '" + evil + "':\n    started: 2026-11-30T09:00:00Z\n")
		s := summed(t, map[string][]byte{evil + ".tar.gz": packedOf(t, b)}, evil+".tar.gz")
		if s.Verdict != check.Fail {
			t.Errorf("%q is taken for an ID", evil)
		}
		var out bytes.Buffer
		if err := s.CSV(&out); err != nil {
			t.Fatal(err)
		}
		for _, separator := range ",;\t" {
			in := csv.NewReader(strings.NewReader(out.String()))
			in.Comma, in.LazyQuotes, in.FieldsPerRecord = separator, true, -1
			rows, err := in.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if separator == ',' && (len(rows) != 2 || len(rows[1]) != len(rows[0])) {
				t.Errorf("%q: %d lines, %d cells below %d", evil, len(rows), len(rows[1]), len(rows[0]))
			}
			for _, row := range rows {
				for _, text := range row {
					if strings.IndexAny(strings.TrimLeft(text, " \n"), "=+-@＝＋－＠") == 0 {
						t.Errorf("%q gives the cell %q where cells are parted by %q", evil, text, separator)
					}
				}
			}
		}
	}
}

func TestSummary_HTML_NothingOfAnArchiveIsMarkup(t *testing.T) {
	evil := `"><script>alert(1)</script>`
	b := small(t)
	b.Manifest.Student, b.Manifest.Class.Name = evil, evil
	replace(t, b, inForced(runFile), `"election": "[a-z]+"`, `"election": "<script>"`)
	s := summed(t, map[string][]byte{evil: packedOf(t, b)}, evil)
	s.Class = evil
	var out bytes.Buffer
	if err := report.ClassHTML(&out, s.Page()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "<script") {
		t.Error("a text of an archive is markup")
	}
	if err := s.Text(io.Discard); err != nil {
		t.Error(err)
	}
}

// What is not done yet is no failure: a student who has only looked at an exercise has done nothing wrong.
func TestSummary_WhatIsOpenIsNotFailed(t *testing.T) {
	r := Result{Exercises: []exercise.Result{{Exercise: "01-a", Verdict: check.Fail, Open: true}, {Exercise: "02-b", Verdict: check.Fail}}}
	if got := r.row([]string{"01-a", "02-b", "03-c"}).Marks; !slices.Equal(got, []check.Verdict{report.Open, check.Fail, ""}) {
		t.Errorf("got %q", got)
	}
}
