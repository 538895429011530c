package report

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
)

func TestNewLags_ComparesArrivalsWithWhatTheSourcesWrote(t *testing.T) {
	start := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	events := []timeline.Event{
		{Wall: start, Kind: timeline.RunStarted},
		{Wall: at(-1000), Kind: timeline.LeaseSeen, Lease: &timeline.Lease{RenewTime: at(-1900)}}, // the present state
		{Wall: at(100), Kind: timeline.LogLine, Log: &timeline.Log{Time: at(-5000)}},              // history
		{Wall: at(100), Kind: timeline.LogLine, Log: &timeline.Log{Time: at(98)}},
		{Wall: at(200), Kind: timeline.LogLine, Log: &timeline.Log{Time: at(194)}},
		{Wall: at(300), Kind: timeline.LeaseSeen, Lease: &timeline.Lease{RenewTime: at(295)}},
		{Wall: at(400), Kind: timeline.WorkSeen, Work: &timeline.Work{}}, // says no time
	}
	l := NewLags(Failover{Trials: []timeline.Trial{{LagsSeconds: map[string]float64{"T1": 0, "T5": 0.005}}}}, events)
	var text strings.Builder
	if err := LagsText(&text, l); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lease  1  5.0  5.0  5.0", "log  2  4.0  6.0  6.0", "all  3  5.0  6.0  6.0", "T2–T7 of the trials  1  5.0  5.0  5.0"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "work") {
		t.Errorf("the table tells of a source that said no time:\n%s", text.String())
	}
}
