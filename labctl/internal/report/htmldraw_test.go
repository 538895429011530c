package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// The bars of a gap whose parts are known end where the next begins, and their signed lengths add up to it.
func TestWaterfall_PartsAddUpToTheLockGap(t *testing.T) {
	f, _, _ := readRun(t, recorded)
	for i, trial := range f.Trials {
		sum, end := 0.0, math.NaN()
		for _, p := range parts(trial, f.Header) {
			sign, _, _ := strings.Cut(p.Name, " ")
			switch sign {
			case "+":
				sum += p.Length
			case "−":
				sum -= p.Length
			}
			if sign == "+" && p.Class != "observation" && !math.IsNaN(end) && math.Abs(p.From-end) > 2e-6 {
				t.Errorf("trial %d: %s begins at %.6f, the part before ends at %.6f", i+1, p.Name, p.From, end)
			}
			end = p.To
		}
		if math.Abs(sum-*trial.LockGapSeconds) > 5e-6 {
			t.Errorf("trial %d: the parts add up to %.6f s, the lock gap is %.6f s", i+1, sum, *trial.LockGapSeconds)
		}
	}
}

func TestWaterfall_NamesTheFlagThatSetsEachPart(t *testing.T) {
	set := func(trial timeline.Trial, h Header) map[string]string {
		out := map[string]string{}
		for _, p := range parts(trial, h) {
			out[strings.TrimLeft(p.Name, "+− ")] = p.SetBy
		}
		return out
	}
	kill, graceful := set(three()[2], header()), set(three()[0], header())
	for _, c := range []struct{ got, want string }{
		{kill["age of the last renewal"], "--leader-elect-retry-period=2s"}, {kill["observation lag"], "--leader-elect-retry-period=2s"},
		{kill["LeaseDuration"], "--leader-elect-lease-duration=15s"}, {kill["poll phase"], "--leader-elect-retry-period=2s"},
		{kill["the takeover's requests"], "no flag"}, {kill["work begins"], "no flag"},
		{graceful["signal → release"], "--release-on-cancel=true"}, {graceful["until a candidate took it"], "its parts are not known"},
	} {
		if !strings.HasPrefix(c.got, c.want) {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if theirs := set(three()[2], Header{Foreign: true, Timing: api.Fast()}); theirs["poll phase"] != "RetryPeriod 1s · (1 … 2.2)" {
		t.Errorf("the flags of an operator that is not the lab's are not known, got %q", theirs["poll phase"])
	}
}

// Only what is known is drawn.
func TestWaterfall_OfWhatWasNotSeen(t *testing.T) {
	seen := func(class timeline.Class, instants map[string]float64) string {
		var names []string
		for _, p := range parts(timeline.Trial{Mode: "kill", Class: class, InstantsSeconds: instants}, header()) {
			names = append(names, p.Name)
		}
		return strings.Join(names, "; ")
	}
	for _, c := range []struct{ got, want string }{
		{seen(timeline.Expired, map[string]float64{"T3": 0.1}), ""},
		{seen(timeline.Expired, map[string]float64{"T5": 16}), "until the next holder"},
		{seen(timeline.Expired, map[string]float64{"T3": 0.1, "T5": 16}), "command → process gone; + until the next holder"},
		{seen(timeline.Released, map[string]float64{"T2": 0.1, "T4": 0.2, "T5": 1}), "command → signal; signal → release; + until a candidate took it"},
		{seen(timeline.SameIdentity, map[string]float64{"T3": 0.1, "T5": 1, "T7": 2}), "command → process gone; + restart in place; work begins"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	if fig := waterfall("x", void("why"), header()); fig != nil {
		t.Errorf("a void trial has a waterfall: %+v", fig)
	}
}

// frozen is a leader that works again, from 16 to 18 s after the fault, when another one has led for a while.
func frozen() (timeline.Trial, []timeline.Event) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var events []timeline.Event
	at := func(seconds float64, e timeline.Event) {
		e.Seconds, e.Wall = seconds, start.Add(time.Duration(seconds*float64(time.Second)))
		events = append(events, e)
	}
	lease := func(seconds float64, holder string) {
		at(seconds, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: holder}})
	}
	tick := func(from, to float64, holder string) {
		for i := math.Round(from * 10); i <= to*10; i++ {
			at(i/10, timeline.Event{Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: holder}})
		}
	}
	lease(0, "pod-a")
	tick(0, 20, "pod-a")
	at(20, timeline.Event{Kind: timeline.FaultIssued, Trial: 1, Fault: &timeline.Fault{Mode: "freeze", Pod: "pod-a"}})
	lease(35, "pod-b")
	tick(35.1, 36, "pod-b")
	tick(36, 38, "pod-a")
	tick(36.1, 40, "pod-b")
	at(41, timeline.Event{Kind: timeline.TrialEnded, Trial: 1})
	return timeline.Trial{Mode: "freeze", Class: timeline.Expired, Winner: timeline.Standby, LockGapSeconds: ptr(14.9), OverlapSeconds: ptr(2.0), HolderBefore: "pod-a", HolderAfter: ptr("pod-b"),
		InstantsSeconds: map[string]float64{"T1": 0.1, "T3": 0.1, "T5": 15, "T7": 15.1}}, events
}

func TestSwimlane_TellsWhoHoldsWhoWorksAndTheOverlap(t *testing.T) {
	trial, events := frozen()
	fig := swimlane("x", trial, events, header())
	if fig == nil {
		t.Fatal("nothing is drawn")
	}
	var rows []string
	for _, row := range fig.Table.Rows {
		rows = append(rows, strings.Join(row, " | "))
	}
	for _, want := range []string{
		"nobody | 0.10 … 15.00 s (expired) | ",
		"two at a time |  | 2.00 s: 16.00 … 18.00 s",
		"A: pod-a, the holder before | −2.00 … 0.10 s; 0.10 … 15.00 s in the name of one that is unheard | −2.00 … 0.00 s; 16.00 … 18.00 s",
		"B: pod-b, the next holder, standby | 15.00 … 20.00 s | 15.10 … 20.00 s",
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("the table lacks %q:\n%s", want, strings.Join(rows, "\n"))
		}
	}
	for _, class := range []string{"overlap", "expired", "inname", "holds", "works"} {
		if !slices.ContainsFunc(fig.Shapes, func(s shape) bool { return s.Kind == "rect" && s.Class == class }) {
			t.Errorf("no bar of class %s", class)
		}
		if !slices.ContainsFunc(fig.Keys, func(k key) bool { return k.Class == class }) {
			t.Errorf("the class %s is not explained", class)
		}
	}
}

func TestSwimlane_ReleaseAndHolesAreToldApart(t *testing.T) {
	trial, events := frozen()
	trial.Class, trial.Mode, trial.OverlapSeconds = timeline.Released, "graceful", ptr(0.0)
	events = append(events, timeline.Event{Seconds: 30, Kind: timeline.WatchHole, HoleSeconds: 4})
	fig := swimlane("x", trial, events, header())
	has := func(class string) bool {
		return slices.ContainsFunc(fig.Shapes, func(s shape) bool { return s.Class == class })
	}
	if !has("free") || has("expired") || has("overlap") || !has("hole") {
		t.Errorf("got %+v", fig.Shapes)
	}
}

func TestSwimlane_ManyCandidatesAreBounded(t *testing.T) {
	trial, events := frozen()
	for i := range 50 {
		events = append(events, timeline.Event{Seconds: 30, Kind: timeline.WorkSeen, Work: &timeline.Work{Holder: fmt.Sprint("pod-", i)}})
	}
	fig := swimlane("x", trial, events, header())
	if n := len(fig.Table.Rows); n > mostCandidates+3 || !strings.Contains(fig.Note, "More candidates") {
		t.Errorf("%d rows, note %q", n, fig.Note)
	}
}

func TestStretches_APauseEndsOne(t *testing.T) {
	if got := moments(stretches([]float64{1.2, 1, 1.1, 3})); got != "1.00 … 1.20 s; 3.00 … 3.10 s" {
		t.Errorf("got %s", got)
	}
	if got := moments(within([]while{{-5, 1}, {1.0001, 2}, {90, 95}, {3, math.NaN()}}, while{0, 10})); got != "0.00 … 2.00 s" {
		t.Errorf("got %s", got)
	}
}

func TestAxis_HasRoundTicksAndKeepsEverythingInside(t *testing.T) {
	for _, span := range []float64{0.003, 0.97, 1, 6.8, 10, 26, 51, 99, 3600} {
		x, ok := newAxis(-span/10, span, 2, 98)
		ticks := x.ticks()
		if !ok || len(ticks) < 2 || len(ticks) > 6 {
			t.Errorf("%g: %v", span, ticks)
		}
	}
	x, _ := newAxis(0, 10, 2, 98)
	for v, want := range map[float64]float64{-1: 2, 0: 2, 5: 50, 10: 98, 11: 98, math.Inf(1): 98, math.Inf(-1): 2} {
		if got := x.at(v); got != want {
			t.Errorf("%g lies at %g, want %g", v, got, want)
		}
	}
	if got := x.at(math.NaN()); got != 2 {
		t.Errorf("no number lies at %g", got)
	}
	for _, bad := range [][2]float64{{0, 0}, {1, 0}, {0, math.NaN()}, {math.NaN(), 1}, {0, math.Inf(1)}, {-1e300, 1e300}} {
		if _, ok := newAxis(bad[0], bad[1], 0, 100); ok {
			t.Errorf("%v can be drawn", bad)
		}
	}
}

// The measured curve ends at 100 % at the longest gap, the predicted one at the end of its range.
func TestSpreads_OfEnoughTrialsOfOneClass(t *testing.T) {
	trials := several()
	figures := spreads(NewFailover(header(), trials, ""), []Simulated{
		{Mode: "kill", Class: timeline.Expired, Gaps: []float64{14, 16, 18, 20}, With: "seed 1"}, {Mode: "kill", Class: timeline.Released, Gaps: []float64{1}}})
	if len(figures) != 1 || !strings.Contains(figures[0].Title, "n = 10") {
		t.Fatalf("got %d figures", len(figures))
	}
	rows := figures[0].Table.Rows
	if last := strings.Join(rows[len(rows)-1], " "); last != "20.60 s 100 % 100 % 100 %" || len(rows) != 10 {
		t.Errorf("%d rows, the last one is %q", len(rows), last)
	}
	var keys []string
	for _, k := range figures[0].Keys {
		keys = append(keys, k.Class)
	}
	if first := strings.Join(rows[0], " "); !slices.Equal(keys, []string{"measured", "expected", "band", "virtual"}) || !strings.HasSuffix(first, "25 %") ||
		!strings.Contains(figures[0].Desc, "virtual time up to it 25 %") {
		t.Errorf("got the keys %v, the row %q and the text %q; want virtual time as the third line, in the table and in the text", keys, first, figures[0].Desc)
	}
	without := spreads(NewFailover(header(), trials, ""), nil)
	if len(without) != 1 || !strings.Contains(without[0].Desc, "virtual time up to it not simulated") || len(without[0].Keys) != 3 {
		t.Errorf("nothing is simulated: got %+v", without)
	}
	if few := spreads(NewFailover(header(), trials[:6], ""), nil); len(few) != 0 {
		t.Errorf("4 gaps are spread: %v", few)
	}
}

func TestCommands_AreWordsOfAShell(t *testing.T) {
	h := Header{Provider: "existing", Foreign: true, Operator: "a/b c", Lease: "it's"}
	lines := commands(Failover{Header: h}, About{Name: "x;y", TrialsEach: 1})
	if got := lines[1].Line; got != `labctl failover --trials 1 --seed 0 --deployment 'a/b c' --lease 'it'\''s'` {
		t.Errorf("got %s", got)
	}
	if got := lines[2].Line; got != "labctl report 'x;y' --format html --output 'x;y.html'" {
		t.Errorf("got %s", got)
	}
}
