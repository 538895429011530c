package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
)

// FuzzReport makes every kind of report of arbitrary trials and events: nothing panics, and the page stays well-formed. The
// bits of missing say which figures were not seen, and lines are a timeline's.
func FuzzReport(f *testing.F) {
	_, silent := frozen()
	var lines bytes.Buffer
	for _, e := range silent[len(silent)-60:] {
		if err := timeline.NewWriter(&lines).Append(e); err != nil {
			f.Fatal(err)
		}
	}
	for i, mode := range []string{"freeze", "kill", "graceful", "crash", "force-delete", "x\x1b<"} {
		for _, class := range []string{"expired", "released", "same-identity", "stolen", "deleted", "unknown"} {
			f.Add(mode, class, "standby", "", "pod-a", "pod-b", 14.9, 15.0, 2.0, 0.1, 15.0, 15.1, 1.1, 0.4, 0.02, uint16(i), uint8(i), uint8(1+i), lines.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, mode, class, winner, why, before, after string, lock, user, overlap, t3, t5, t7, age, phase, rest float64, missing uint16, standbys, n uint8, data []byte) {
		figure := func(bit int, v float64) *float64 {
			if missing>>bit&1 == 1 {
				return nil
			}
			return &v
		}
		trial := timeline.Trial{Mode: mode, Class: timeline.Class(class), Winner: timeline.Winner(winner), Void: why, LockGapSeconds: figure(0, lock), GapSeconds: figure(1, user), OverlapSeconds: figure(2, overlap),
			UncertaintySeconds: figure(3, rest), GapUncertaintySeconds: figure(4, rest), Standbys: int(standbys), HolderBefore: before, Kubectl: after, Errors: []string{why, why}, Lane: int(n),
			InstantsSeconds: map[string]float64{}, LagsSeconds: map[string]float64{"T5": rest}, Sources: map[string]timeline.Source{"T5": timeline.SourceLease}}
		for name, at := range map[string]*float64{"T2": figure(5, rest), "T3": figure(6, t3), "T4": figure(7, t3), "T5": figure(8, t5), "T7": figure(9, t7)} {
			if at != nil {
				trial.InstantsSeconds[name] = *at
			}
		}
		if missing>>10&1 == 0 {
			trial.HolderAfter, trial.TransitionsAfter = &after, ptr(int(standbys))
		}
		if missing>>11&1 == 0 {
			trial.Terms = &timeline.Terms{AgeSeconds: figure(12, age), ObservationSeconds: figure(13, phase), LeaseDurationSeconds: figure(14, t5), PollPhaseSeconds: phase, ResidualSeconds: rest}
		}
		events, err := timeline.Read(bytes.NewReader(data))
		if err != nil {
			events = nil
		}
		trials := timeline.Trials(events)
		if len(trials) == 0 || missing>>15&1 == 1 {
			trials = slices.Repeat([]timeline.Trial{trial}, int(n%8))
		} else {
			trials[0] = trial
		}
		reports(t, NewFailover(header(), trials, before), About{Name: before, Modes: []string{mode}, Labctl: after,
			Simulated: []Simulated{{Mode: mode, Class: timeline.Class(class), Gaps: []float64{t3, t5}, With: why}}}, events)
	})
}

// reports makes every kind of report.
func reports(t *testing.T, f Failover, about About, events []timeline.Event) {
	page := write(t, f, about, events)
	if err := wellFormed(page); err != nil {
		t.Fatalf("%v:\n%s", err, page)
	}
	var out bytes.Buffer
	if err := errors.Join(Text(&out, f), Markdown(&out, f)); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }); i >= 0 {
		t.Fatalf("a control character: %q", out.String()[i:])
	}
}

// FuzzTimeline reads arbitrary lines: an error, or events of which every trial can be measured.
func FuzzTimeline(f *testing.F) {
	events, err := os.ReadFile(filepath.Join(recorded, "timeline.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	kinds := regexp.MustCompile(`"kind":"[a-z-]+"`)
	seen, one := map[string]bool{}, []byte(nil)
	for line := range bytes.Lines(events) { // one event of each kind, alone and together: long seeds make a slow search
		if kind := string(kinds.Find(line)); !seen[kind] {
			seen[kind] = true
			one = append(one, line...)
			f.Add(line)
		}
	}
	f.Add(one)
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := timeline.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		trials := timeline.Trials(events)
		if n := len(cuts(events)); n != len(trials) {
			t.Fatalf("%d trials are drawn, %d were measured", n, len(trials))
		}
		for _, trial := range trials {
			if trial.Void != "" && (trial.LockGapSeconds != nil || trial.GapSeconds != nil) {
				t.Fatalf("a void trial has figures: %+v", trial)
			}
		}
		if _, err := json.Marshal(trials); err != nil {
			t.Fatal(err) // a figure that is no number
		}
		var narrator Narrator
		for _, e := range events {
			narrator.Line(e)
		}
	})
}
