package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/mutant"
)

// tried makes subjects that came out in several ways.
func tried(change func([]lab.Tried)) []lab.Tried {
	worksOn, _ := mutant.ByName("works-on")
	forLife, _ := mutant.ByName("for-life")
	all := []lab.Tried{
		{Subject: lab.Subject{Mutant: worksOn, Trials: 20, Wrong: true}, Trials: 2, Caught: &mutant.Alarm{Name: "overlap-none", Reason: "two leaders worked for 2.93 s", Seconds: 2.93}, Run: "/runs/1-works-on/x"},
		{Subject: lab.Subject{Mutant: forLife, Trials: 20, Wrong: true}, Trials: 1, Caught: &mutant.Alarm{Name: "class-expected", Reason: "class same-identity, expected expired"}},
		{Subject: lab.Subject{Mutant: mutant.Mutant{Name: mutant.Reference, Mode: fault.Steal, Timing: worksOn.Timing, Replicas: 2, For: []mutant.Mutant{worksOn}}, Trials: 50}, Trials: 50},
	}
	change(all)
	return all
}

func TestMutants_Judge(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]lab.Tried)
		want   check.Verdict
		reason string
	}{
		"all as it should be":  {func([]lab.Tried) {}, check.Pass, "at 95 % confidence less than 6 % of trials"},
		"a mutant that got by": {func(all []lab.Tried) { all[0].Caught, all[0].Trials = nil, 20 }, check.Fail, "works-on was not caught in 20 trials"},
		"a mutant not tried":   {func(all []lab.Tried) { all[0].Caught, all[0].Err = nil, errors.New("no room") }, check.Unknown, "works-on was not tried to the end: no room"},
		"a mutant not judged": {func(all []lab.Tried) {
			all[0].Caught, all[0].Trials, all[0].Unseen, all[0].Missed = nil, 3, 39, "overlap-none: not seen"
		}, check.Unknown, "works-on could be judged in 3 of 20 trials (beside them 39 not judged: overlap-none: not seen)"},
		"a reference not judged": {func(all []lab.Tried) { all[2].Trials, all[2].Unseen, all[2].Missed = 0, 102, "overlap-none: not seen" }, check.Unknown, "reference, steal could be judged in 0 of 50 trials"},
		"an alarm for nothing":   {func(all []lab.Tried) { all[2].Alarms = []mutant.Alarm{{Name: "overlap-none", Reason: "x"}} }, check.Fail, "reference, steal: overlap-none: x"},
		"an own one that does not start": {func(all []lab.Tried) {
			all[2].Subject.Name, all[2].Alarms = ownName, []mutant.Alarm{{Name: mutant.NotReady, Reason: "0 of 2"}}
		}, check.Fail, "--leader-elect-retry-period: see docs/mutants.md"},
		"only void trials": {func(all []lab.Tried) { all[2].Trials, all[2].Void = 0, 3 }, check.Unknown, "reference, steal could be judged in 0 of 50 trials (beside them 3 disturbed)"},
	} {
		r := mutantsResult{Schema: "lab/v1", Kind: "Mutants"}
		r.take(tried(c.change))
		data, err := json.Marshal(r)
		if err == nil {
			err = valid(compile(t, "mutants.schema.json"), data)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r.Verdict != c.want || !strings.Contains(string(data), c.reason) {
			t.Errorf("%s: got %s, want %s with %q\n%s", name, r.Verdict, c.want, c.reason, data)
		}
	}
}

func TestMutants_PrintATable(t *testing.T) {
	r := mutantsResult{Seconds: 12, Mutants: []mutantLine{}, References: []mutantLine{}}
	r.take(tried(func(all []lab.Tried) { all[1].Caught, all[1].Trials = nil, 20 }))
	var out bytes.Buffer
	a := &app{streams: Streams{Out: &out}, self: "labctl"}
	if err := a.printMutants(r, "/runs"); err != nil {
		t.Fatal(err)
	}
	want := `MUTANT    REPORT                             MODE    CHECK CAUGHT     SYMPTOM
works-on  argoproj/argo-rollouts#2117        steal  overlap-none trial 2    two leaders worked for 2.93 s
for-life  operator-framework/operator-sdk#1305  freeze class-expected, no-successor no, in 20
reference steal 5/3/1 2 50 0 works-on
`
	for _, line := range strings.Split(want, "\n") {
		if got, part := strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(line), " "); !strings.Contains(got, part) {
			t.Errorf("got\n%s\nwant the line %q", out.String(), part)
		}
	}
}

// One's own operator is tried as often as its mutants need to show.
func TestMutants_OwnIsTriedAsOftenAsAFaultNeeds(t *testing.T) {
	c := (&app{}).mutantsCommand()
	f := mutantsFlags{lanes: 1, trials: 2, image: "my-operator:1"}
	subjects, err := f.subjects(c, []string{"standby-works", "works-on"})
	if start, err := f.subjects(c, []string{"no-durations"}); err != nil || start[0].Trials != 1 {
		t.Errorf("a start: got %+v, %v", start, err)
	}
	if err != nil || len(subjects) != 2 || subjects[0].Trials != 5 || subjects[1].Trials != 2 {
		t.Errorf("got %+v, %v", subjects, err)
	}
}

func TestCounted(t *testing.T) {
	if got := counted(1, "alarm") + counted(0, "alarm") + notCounted(0, 0, ""); got != "1 alarm0 alarms" {
		t.Errorf("got %q", got)
	}
}

// TestE2EMutants tries two mutants on a real lab: one that is a switch of the operator, and one that is a patch.
func TestE2EMutants(t *testing.T) {
	w := newWorld(t)
	w.must("labctl", "up")
	r := w.run(5*time.Minute, "labctl", "mutants", "release-not-plumbed", "works-on", "--reference-trials", "1", "--lanes", "2", "--json")
	if r.code != ExitPass {
		t.Fatalf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if err := valid(compile(t, "mutants.schema.json"), []byte(r.out)); err != nil {
		t.Error(err)
	}
	var result mutantsResult
	if err := json.Unmarshal([]byte(r.out), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Mutants) != 2 || len(result.References) != 2 {
		t.Fatalf("got %d mutants and %d references\n%s", len(result.Mutants), len(result.References), r.out)
	}
	for _, m := range result.Mutants {
		if m.CaughtIn == nil || m.Run == "" {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
	if left := w.kubectl("get", "namespaces", "-l", "academy.example/lane", "-o", "name"); left != "" {
		t.Errorf("these namespaces are left: %s", left)
	}
}
