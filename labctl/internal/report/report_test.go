package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

func header() Header {
	return Header{Provider: "embedded", Election: "plain", Identity: "pod", ReleaseOnCancel: new(true), Timing: api.Default(), PodStartLatencySeconds: 1.2}
}

// three are the trials of `make failover`, with one figure of each kind.
func three() []timeline.Trial {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return []timeline.Trial{
		{Mode: "graceful", Class: timeline.Released, Winner: timeline.Replacement, GapSeconds: ptr(1.61), LockGapSeconds: ptr(1.42), OverlapSeconds: ptr(0.0),
			Standbys: 1, HolderBefore: "pod-a", HolderAfter: ptr("pod-c"), TransitionsBefore: 3, TransitionsAfter: ptr(4), WallT0: at,
			InstantsSeconds: map[string]float64{"T1": 0.01, "T4": 0.12, "T5": 1.54, "T7": 1.61}, Kubectl: "kubectl -n academy-build delete pod pod-a"},
		{Mode: "force-delete", Class: timeline.Released, Winner: timeline.Standby, GapSeconds: ptr(0.99), LockGapSeconds: ptr(0.81), OverlapSeconds: ptr(0.0),
			Standbys: 1, HolderBefore: "pod-c", HolderAfter: ptr("pod-b"), TransitionsBefore: 4, TransitionsAfter: ptr(5), WallT0: at,
			InstantsSeconds: map[string]float64{"T1": 0.01, "T4": 0.11, "T5": 0.92, "T7": 0.99}, Kubectl: "kubectl -n academy-build delete pod pod-c --grace-period=0 --force"},
		{Mode: "kill", Class: timeline.Expired, Winner: timeline.Standby, GapSeconds: ptr(17.41), LockGapSeconds: ptr(17.31), OverlapSeconds: ptr(0.0),
			UncertaintySeconds: ptr(0.012), GapUncertaintySeconds: ptr(0.003),
			Terms:   &timeline.Terms{AgeSeconds: ptr(1.01), ObservationSeconds: ptr(1.8), LeaseDurationSeconds: ptr(15.0), PollPhaseSeconds: 1.5, ResidualSeconds: 0.02},
			Sources: map[string]timeline.Source{"T1": "command", "T3": "node", "T5": "lease", "T7": "log"}, LagsSeconds: map[string]float64{"T1": 0, "T3": 0.004, "T5": 0.012, "T7": 0.003},
			Standbys: 1, HolderBefore: "pod-b", HolderAfter: ptr("pod-d"), TransitionsBefore: 5, TransitionsAfter: ptr(6), WallT0: at,
			InstantsSeconds: map[string]float64{"T1": 0.02, "T3": 0.01, "T5": 17.32, "T7": 17.41}},
	}
}

func void(why string) timeline.Trial {
	return timeline.Trial{Mode: "kill", Class: timeline.Unknown, Void: why, HolderBefore: "pod-b", Standbys: 1, InstantsSeconds: map[string]float64{}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test -update and look at the difference\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestText(t *testing.T) {
	for name, trials := range map[string][]timeline.Trial{
		"three.txt": three(),
		"many.txt":  append(three(), three()...),
		"void.txt":  append(three(), void("the command was not accepted"), void("standby pod-b went away before the Lease had a new holder"), void("the command was not accepted")),
		"unseen.txt": {{Mode: "kill", Class: timeline.Unknown, Void: "no new holder was seen", HolderBefore: "pod-b", Standbys: 1,
			InstantsSeconds: map[string]float64{"T1": 0.02}}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Text(&out, NewFailover(header(), trials, "/runs/x")); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
		})
	}
}

func TestMarkdown(t *testing.T) {
	var out bytes.Buffer
	if err := Markdown(&out, NewFailover(header(), three(), "/runs/x")); err != nil {
		t.Fatal(err)
	}
	golden(t, "three.md", out.Bytes())
}

// Every mode at its widest: a long title, a mixed class and winner, figures of two digits before the point.
func TestText_FitsAHundredColumns(t *testing.T) {
	wide := three()
	for i := range wide {
		wide[i].LockGapSeconds, wide[i].GapSeconds, wide[i].UncertaintySeconds, wide[i].GapUncertaintySeconds = ptr(17.31), ptr(17.41), ptr(0.02), ptr(0.01)
		wide[i].Class, wide[i].Winner = timeline.SameIdentity, timeline.Replacement
	}
	for name, trials := range map[string][]timeline.Trial{"single": wide, "several": append(append(wide, three()...), void("x"), void(strings.Repeat("long ", 40)))} {
		var out bytes.Buffer
		if err := Text(&out, NewFailover(header(), trials, "/runs/x")); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestJSON_HasTheNamesOfTheContract(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, NewFailover(header(), three(), "/runs/x")); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"schema", "kind", "provider", "election", "identity", "releaseOnCancel", "timing", "n", "trials", "predicted", "checks", "verdict", "run"} {
		if _, ok := got[key]; !ok {
			t.Errorf("the key %q is missing", key)
		}
	}
	trial := got["trials"].([]any)[0].(map[string]any)
	for _, key := range []string{"mode", "class", "winner", "gapSeconds", "lockGapSeconds", "overlapSeconds", "uncertaintySeconds", "phaseSeconds", "standbys",
		"replacementStartSeconds", "holderBefore", "holderAfter", "transitionsBefore", "transitionsAfter", "wallT0", "instantsSeconds"} {
		if _, ok := trial[key]; !ok {
			t.Errorf("a trial lacks the key %q", key)
		}
	}
	if got["kind"] != "Failover" || got["schema"] != "lab/v1" || got["verdict"] != string(check.Pass) {
		t.Errorf("got kind %v, schema %v, verdict %v", got["kind"], got["schema"], got["verdict"])
	}
}

func TestWhy_EveryClassHasASentence(t *testing.T) {
	for class, part := range map[timeline.Class]string{
		timeline.Released: "released", timeline.Expired: "nobody released", timeline.SameIdentity: "same identity",
		timeline.Stolen: "somebody wrote", timeline.Deleted: "was deleted", timeline.Unknown: "not measured",
	} {
		if got := Why(timeline.Trial{Class: class, Void: "x", Mode: "kill"}, api.Default()); !strings.Contains(got, part) {
			t.Errorf("%s: got %q, want it to say %q", class, got, part)
		}
	}
}

func TestWhy_AForcedDeleteThatDidNotReleaseShowsTheOperatorsError(t *testing.T) {
	trial := timeline.Trial{Mode: "force-delete", Class: timeline.Expired, Winner: timeline.Standby, Errors: []string{"pod-a: Unauthorized"}}
	if got := Why(trial, api.Default()); !strings.Contains(got, "Unauthorized") {
		t.Errorf("got %q, want the operator's error in it", got)
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
}

func TestTerms_OfAReleaseAndOfLessThanTheModelSays(t *testing.T) {
	trial := timeline.Trial{Terms: &timeline.Terms{PollPhaseSeconds: 1.4, ResidualSeconds: -0.02}}
	if got, want := Terms(trial), "1.40 poll phase = 1.40 s; 0.02 s less was measured, since the gap's beginning was seen late"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Terms(timeline.Trial{}); got != "" {
		t.Errorf("no terms: got %q, want nothing", got)
	}
}

func TestNewFailover_AForeignOperatorsBandIsThatOfItsClass(t *testing.T) {
	h := Header{Provider: "embedded", Operator: "theirs/my-operator", Lease: "theirs/my-lease", Foreign: true, Timing: api.Timing{LeaseDuration: 6 * time.Second, RetryPeriod: time.Second}}
	f := NewFailover(h, []timeline.Trial{void("a hole"), {Mode: "kill", Class: timeline.Expired, LockGapSeconds: ptr(6.9), Standbys: 1, TransitionsAfter: ptr(1)}}, "")
	if p := f.Predicted["kill"]; p.MinSeconds != 5 || p.MaxSeconds != 10.4 {
		t.Errorf("got %.1f–%.1f s, want that of an expired Lease", p.MinSeconds, p.MaxSeconds)
	}
	var text strings.Builder
	if err := Text(&text, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"theirs/my-operator on embedded, Lease theirs/my-lease", "LeaseDuration 6s   RenewDeadline not known   RetryPeriod 1s"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"election":null,"identity":null,"releaseOnCancel":null`, `"renewDeadlineSeconds":null`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, data)
		}
	}
}

// A leader that is asked to stop and keeps the Lease ends some time after its last sign of life: the printed range is that much
// less, as the one that is checked, and what lies outside of it by less than the tolerance is explained.
func TestNewFailover_TheRangeCountsFromTheEndOfALeaderThatKeepsTheLease(t *testing.T) {
	h := header()
	h.ReleaseOnCancel = new(false)
	h.Timing = api.Default()
	trial := func(gap float64) timeline.Trial {
		return timeline.Trial{Mode: "graceful", Class: timeline.Expired, Winner: timeline.Replacement, LockGapSeconds: &gap,
			ReplacementStartSeconds: new(1.26), InstantsSeconds: map[string]float64{timeline.T2: 0.01, timeline.T3: 2.04}}
	}
	for gap, says := range map[float64]string{14.94: "", 14.2: "a lock gap 0.1 s below or 0.5 s above passes"} {
		f := NewFailover(h, []timeline.Trial{trial(gap)}, "")
		if p := f.Predicted["graceful"]; math.Abs(p.MinSeconds-14.23) > 0.001 || math.Abs(p.MaxSeconds-18.63) > 0.001 {
			t.Errorf("got %.2f … %.2f s, want 15 + 1.26 − 2.03 s, and 4.4 s more", p.MinSeconds, p.MaxSeconds)
		}
		if told := allowance(f); (told == "") != (says == "") || !strings.Contains(told, says) {
			t.Errorf("a gap of %g s: got %q", gap, told)
		}
		for _, c := range f.Checks {
			if c.Name == check.GapInBand && c.Verdict != check.Pass {
				t.Errorf("a gap of %g s: %s: %s", gap, c.Verdict, c.Reason)
			}
		}
	}
}
