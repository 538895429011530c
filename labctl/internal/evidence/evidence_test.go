package evidence

import (
	"bytes"
	"path"
	"testing"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist/source"
)

func TestVerify_AnArchiveThatNobodyChanged(t *testing.T) {
	b := student(t, 1)
	b.Files["checklists/module-4.5.md"] = filled(t, b)
	data := packedOf(t, b)
	if again := packedOf(t, b); !bytes.Equal(data, again) {
		t.Error("the same content gives other bytes")
	}
	r := Verify("s01.tar.gz", bytes.NewReader(data), course(t))
	if r.Verdict != check.Pass || len(r.Findings) != 0 {
		t.Errorf("verdict %s: %v", r.Verdict, r.Findings)
	}
	if r.Student != "s01" || r.Class != "autumn" || len(r.Head) != 64 {
		t.Errorf("student %q, class %q, head %q", r.Student, r.Class, r.Head)
	}
	if len(r.Exercises) < 9 {
		t.Errorf("%d exercises were judged", len(r.Exercises))
	}
	for _, e := range r.Exercises {
		if e.Verdict != check.Pass {
			t.Errorf("%s: %s: %+v", e.Exercise, e.Verdict, e.Items)
		}
	}
	if len(r.Checklists) != 1 || r.Checklists[0].Verdict != check.Fail { // the citations and the sentences are the student's
		t.Errorf("checklists: %+v", r.Checklists)
	}
}

// TestVerify_RealRecordsAgree has the recorded solutions as they are: what real machines wrote down contradicts itself nowhere.
func TestVerify_RealRecordsAgree(t *testing.T) {
	files, err := solved()
	if err != nil {
		t.Fatal(err)
	}
	b := Bundle{Manifest: Manifest{Lab: "lab", Course: course(t).Digests, Versions: Versions{Labctl: "dev", ClientGo: source.Version}}}
	for name, data := range files {
		if path.Base(name) == trialsFile {
			continue // an older labctl measured some figures otherwise
		}
		if err := b.Add(name, data); err != nil {
			t.Fatal(err)
		}
	}
	for name := range files {
		if path.Base(name) == runFile {
			run := path.Base(path.Dir(name))
			b.Files[RunPath(run, trialsFile)] = retold(t, &b, run)
		}
	}
	r := Verify("real.tar.gz", bytes.NewReader(packedOf(t, &b)), course(t))
	if r.Verdict != check.Pass || len(r.runs) < 8 {
		t.Errorf("verdict %s of %d runs: %v", r.Verdict, len(r.runs), r.Findings)
	}
}
