package exercise_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/exercise/recorded"
)

func find(t testing.TB, name string) exercise.Exercise {
	t.Helper()
	e, ok := exercise.Find(load(t, os.DirFS(folder)), name)
	if !ok {
		t.Fatalf("there is no exercise %s", name)
	}
	return e
}

func judge(e exercise.Exercise, p exercise.Proof) map[string]exercise.Item {
	entry := p.Entry
	r := exercise.Judge(e, &entry, exercise.Evidence{Runs: p.Runs, NoLab: "no lab is running", ClientGo: source.Version, Now: time.Now()})
	items := map[string]exercise.Item{"": {Verdict: r.Verdict}}
	for _, i := range r.Items {
		items[i.ID] = i
	}
	return items
}

func TestJudge_saysTheSame200Times(t *testing.T) {
	for _, e := range load(t, os.DirFS(folder)) {
		p := proofOf(t, e.Name)
		for n := range 200 {
			if got := judge(e, p)[""].Verdict; got != check.Pass {
				t.Fatalf("%s, check %d: got %s, want pass", e.Name, n+1, got)
			}
		}
	}
}

func TestJudge_aRunBeforeItsPredictionDoesNotCount(t *testing.T) {
	e, p := find(t, "03"), proofOf(t, "03-time-a-forced-failover")
	p.Entry.Predicted["predict-gap"] = exercise.Guess{Value: p.Entry.Answers["predict-gap"], At: time.Now()}
	got := judge(e, p)["run"]
	if got.Verdict != check.Fail || !strings.Contains(got.Reason, "no trial of mode kill since") {
		t.Errorf("got %+v, want it to fail for want of a later run", got)
	}
	p = proofOf(t, e.Name)
	p.Entry.Answers["predict-gap"] = "21" // changed afterwards in the file
	if got := judge(e, p)["run"]; got.Verdict != check.Fail {
		t.Errorf("a prediction that was changed after the run still counts: %+v", got)
	}
	p = proofOf(t, e.Name)
	delete(p.Entry.Answers, "predict-gap")
	delete(p.Entry.Predicted, "predict-gap")
	if got := judge(e, p)["run"]; !strings.Contains(got.Reason, "predict first: predict-gap") {
		t.Errorf("got %q, want it to ask for the prediction", got.Reason)
	}
}

func TestJudge_figures(t *testing.T) {
	e := find(t, "05")
	p := proofOf(t, e.Name)
	typed, killed := p.Entry.Answers["typed-gap"], p.Entry.Answers["killed-gap"]
	for answer, want := range map[string]string{killed: "it is the figure of killed", "7": "is not what the events give; write the one that was shown, with the decimals", strings.Split(typed, ".")[0]: "write it with the decimals", "2.71": "is not what the events give", "4.40": "a figure of the model", "about two": "is not a number", "": "not answered"} {
		p := proofOf(t, e.Name)
		p.Entry.Answers["typed-gap"] = answer
		if got := judge(e, p)["typed-gap"]; got.Verdict != check.Fail || !strings.Contains(got.Reason, want) {
			t.Errorf("%q: got %s, %q, want %q", answer, got.Verdict, got.Reason, want)
		}
	}
	for _, answer := range []string{typed, typed + " s", strings.Replace(typed, ".", ",", 1) + "\u00a0s"} {
		p := proofOf(t, e.Name)
		p.Entry.Answers["typed-gap"] = answer
		if got := judge(e, p)["typed-gap"]; got.Verdict != check.Pass {
			t.Errorf("%q: got %s, %q", answer, got.Verdict, got.Reason)
		}
	}
}

func TestJudge_whatTheMachineSpoiledIsUnknown(t *testing.T) {
	e, p := find(t, "03"), proofOf(t, "03-time-a-forced-failover")
	for i := range p.Runs[0].Trials {
		p.Runs[0].Trials[i].Void = "events may be missing"
	}
	if got := judge(e, p)["run"]; got.Verdict != check.Unknown || !strings.Contains(got.Reason, "unknown (environment): events may be missing") {
		t.Errorf("got %s, %q, want unknown (environment)", got.Verdict, got.Reason)
	}
	e, p = find(t, "01"), proofOf(t, "01-watch-the-lock")
	p.Entry.Seen = nil
	if got := judge(e, p)["one"]; got.Verdict != check.Unknown || !strings.Contains(got.Reason, "no lab is running") {
		t.Errorf("got %s, %q, want unknown without a lab", got.Verdict, got.Reason)
	}
}

func TestJudge_aRecordThatWasChangedIsNamed(t *testing.T) {
	e, p := find(t, "03"), proofOf(t, "03-time-a-forced-failover")
	p.Runs[0].Edited = []string{"trial 1: trials.json says lockGapSeconds 1, the events say 18"}
	if got := judge(e, p)["run"]; got.Verdict != check.Fail || !strings.Contains(got.Reason, "was changed after it was made") {
		t.Errorf("got %s, %q", got.Verdict, got.Reason)
	}
}

func TestObservation_needsThePredictionFirstAndIsRemembered(t *testing.T) {
	e, p := find(t, "01"), proofOf(t, "01-watch-the-lock")
	entry := exercise.Entry{Started: time.Now(), Answers: map[string]string{}}
	lab := snapshot(p)
	evidence := exercise.Evidence{Lab: &lab, Now: time.Now()}
	exercise.Judge(e, &entry, evidence)
	if len(entry.Seen) > 0 {
		t.Errorf("seen before the prediction: %v", entry.Seen)
	}
	entry.Answers["predict-second"] = "a"
	exercise.Judge(e, &entry, evidence)
	if _, ok := entry.Seen["one"]; !ok {
		t.Error("one replica was not seen")
	}
	evidence.Lab = nil
	for _, i := range exercise.Judge(e, &entry, evidence).Items {
		if i.ID == "one" && i.Verdict != check.Pass {
			t.Errorf("what was seen is forgotten: %+v", i)
		}
	}
}

func TestCited_trialsOfAll(t *testing.T) {
	p := proofOf(t, "05-delete-it-as-typed")
	for _, c := range recorded.All(p.Runs) {
		if !strings.HasPrefix(c.Event(), "run "+c.Run.Name+", trial ") {
			t.Errorf("got %q", c.Event())
		}
	}
}
