package evidence

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
)

// sealed packs an archive that holds these files and nothing else.
func sealed(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	b := Bundle{Manifest: Manifest{Lab: "lab", Course: course(t).Digests, Versions: Versions{Labctl: "dev"}}, Files: files}
	return packedOf(t, &b)
}

// A pass is earned: a manifest was read, and something was judged.
func TestVerify_NothingIsNoPass(t *testing.T) {
	known := course(t)
	for name, c := range map[string]struct {
		data []byte
		what What
	}{
		"a gzip of nothing":        {zipped(t, nil), Missing},
		"an archive without files": {crafted(t), Missing},
		"a manifest alone":         {sealed(t, nil), Empty},
		"answers to nothing":       {sealed(t, map[string][]byte{progressFile: []byte("format: 1\n")}), Empty},
	} {
		r := Verify(name, bytes.NewReader(c.data), known)
		if r.Verdict != check.Fail || len(r.Findings) != 1 || r.Findings[0].What != c.what {
			t.Errorf("%s: verdict %s, %v; want %s", name, r.Verdict, r.Findings, c.what)
		}
	}
	begun := []byte("format: 1\nexercises:\n  03-time-a-forced-failover:\n    started: 2026-11-30T09:00:00Z\n")
	if r := Verify("begun", bytes.NewReader(sealed(t, map[string][]byte{progressFile: begun})), known); r.Verdict != check.Pass {
		t.Errorf("an exercise that was begun: verdict %s, %v", r.Verdict, r.Findings)
	}
}

// trials.json is written when a run ends, so it was taken out of one that did; a run that was killed may have none.
func TestVerify_WithoutTrials(t *testing.T) {
	b, known := small(t), course(t)
	delete(b.Files, progressFile)
	delete(b.Files, inForced(trialsFile))
	r := Verify("ended", bytes.NewReader(packedOf(t, b)), known)
	if r.Verdict != check.Fail || len(r.Findings) != 1 || r.Findings[0].What != Missing || r.Findings[0].File != inForced(trialsFile) {
		t.Errorf("verdict %s, %v", r.Verdict, r.Findings)
	}
	lines := bytes.SplitAfter(b.Files[inForced(eventsFile)], []byte("\n"))
	b.Files[inForced(eventsFile)] = bytes.Join(slices.DeleteFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"run-ended"`)) }), nil)
	if r := Verify("killed", bytes.NewReader(packedOf(t, b)), known); r.Verdict != check.Pass {
		t.Errorf("a run without an end: verdict %s, %v", r.Verdict, r.Findings)
	}
}

// What is taken in of an archive is bounded in all, whatever a single file's header says.
func TestOpening_TakesInSoMuchInAll(t *testing.T) {
	o := newOpening()
	o.left = 15
	for i, want := range []error{nil, errTooMuch} {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf("runs/r%d/%s", i, eventsFile), Size: 10}
		if err := o.file(h, io.LimitReader(zeros{}, h.Size)); err != want {
			t.Errorf("file %d: got %v, want %v", i, err, want)
		}
	}
	if len(o.bundle.Files) != 1 {
		t.Errorf("%d files were taken in", len(o.bundle.Files))
	}
}

// However much is wrong with an archive, what is told of it can be read, and nothing is lost from the verdict.
func TestVerify_FindingsAreCut(t *testing.T) {
	var alike []tar.Header
	for range 500 {
		alike = append(alike, tar.Header{Name: "odd", Size: 1})
	}
	var answers strings.Builder
	answers.WriteString("format: 1\nexercises:\n")
	for n := range 500 {
		fmt.Fprintf(&answers, "  none-%d:\n    started: 2026-11-30T09:00:00Z\n", n)
	}
	known := course(t)
	for name, c := range map[string]struct {
		data    []byte
		most    int
		verdict check.Verdict
	}{
		"one odd name 500 times":  {crafted(t, alike...), mostTold + 2, check.Fail},
		"500 exercises of no one": {sealed(t, map[string][]byte{progressFile: []byte(answers.String())}), mostFindings + 1, check.Unknown},
	} {
		r := Verify(name, bytes.NewReader(c.data), known)
		if len(r.Findings) != c.most || r.Verdict != c.verdict {
			t.Errorf("%s: %d findings, verdict %s; want %d, %s", name, len(r.Findings), r.Verdict, c.most, c.verdict)
		}
	}
	var found findings
	for range mostFindings {
		found.unknown(Clock, "", "x")
	}
	found.fail(Edited, "", "y")
	if cut := found.cut(); cut.verdict() != check.Fail {
		t.Errorf("what was cut off is lost: %v", cut[mostFindings:])
	}
}

// One run in many archives is one line in each.
func TestCompare_OneRunInMany(t *testing.T) {
	b, known := small(t), course(t)
	delete(b.Files, progressFile)
	b.Manifest.Class, b.Manifest.Student = nil, ""
	data := packedOf(t, b)
	var results []Result
	for n := range 4 {
		results = append(results, Verify(fmt.Sprint(n), bytes.NewReader(data), known))
	}
	Compare(results, nil)
	for n, first := range []string{"1", "0", "0", "0"} {
		f := results[n].Findings
		if want := " is in " + first + ", too, and in 2 more archives"; len(f) != 1 || !strings.HasSuffix(f[0].Reason, want) {
			t.Errorf("archive %d: %v, want one that ends in %q", n, f, want)
		}
	}
}
