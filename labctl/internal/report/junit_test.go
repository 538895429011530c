package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/check"
)

func junitOf(t *testing.T, f Failover) junitSuites {
	t.Helper()
	var out bytes.Buffer
	if err := JUnit(&out, f); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	return read
}

func (j junitSuites) named(name string) (found junitCase) {
	for _, s := range j.Suites {
		for _, c := range s.Cases {
			if c.Name == name {
				found = c
			}
		}
	}
	return found
}

func TestJUnit_HasACaseForEachCheckAndTrial(t *testing.T) {
	f := NewFailover(header(), three(), "/somewhere/20261130-120000-failover")
	j := junitOf(t, f)
	if want := len(f.Checks) + len(f.Trials); j.Tests != want || j.Failures != 0 {
		t.Errorf("%d tests, %d failures; want %d and 0", j.Tests, j.Failures, want)
	}
	if c := j.named("kill 1"); c.Failure != nil || c.Skipped != nil || !strings.Contains(c.Out, "lock gap") {
		t.Errorf("trial 3: %+v", c)
	}
	if strings.Contains(j.Suites[0].Name, "somewhere") {
		t.Errorf("the suite names a folder: %s", j.Suites[0].Name)
	}
}

func TestJUnit_OfWhatFailedAndWhatWasNotSeen(t *testing.T) {
	trials := three()
	late, overlap := 99.0, 1.5
	trials[2].LockGapSeconds, trials[2].OverlapSeconds = &late, &overlap
	trials[0].Void = "a hole\x1b[31m <b>"
	f := NewFailover(header(), trials, "run")
	f.CutShort("it was interrupted")
	j := junitOf(t, f)
	for _, name := range []string{check.GapInBand, check.Overlap, "kill 1"} {
		if c := j.named(name); c.Failure == nil || c.Failure.Message == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for _, name := range []string{check.Undisturbed, "whole-run", trials[0].Mode + " 1"} {
		if c := j.named(name); c.Skipped == nil || c.Failure != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := j.named(trials[0].Mode + " 1"); !strings.Contains(c.Skipped.Message, `\x1b[31m <b>`) {
		t.Errorf("the reason is %q", c.Skipped.Message)
	}
}

func TestJUnit_AnOperatorWhoseWorkIsNotSeen_IsNotSaidToHaveNoOverlap(t *testing.T) {
	h := header()
	h.Foreign = true
	trials := three()
	for i := range trials {
		trials[i].OverlapSeconds = nil
	}
	if c := junitOf(t, NewFailover(h, trials, "run")).named(check.Overlap); c.Skipped == nil {
		t.Errorf("%+v", c)
	}
	overlap := 2.0
	trials[0].OverlapSeconds = &overlap
	if c := junitOf(t, NewFailover(h, trials, "run")).named(check.Overlap); c.Failure == nil {
		t.Errorf("with an overlap that was seen: %+v", c)
	}
}
