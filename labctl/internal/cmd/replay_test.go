package cmd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
)

func TestPlay_KeepsThePausesDividedBySpeed(t *testing.T) {
	events := []timeline.Event{{Seconds: 5}, {Seconds: 7}, {Seconds: 6.9}, {Seconds: 65}} // stamped by several watchers: not in order
	for speed, want := range map[float64][]time.Duration{
		1:   {0, 2 * time.Second, 2 * time.Second, time.Minute},
		10:  {0, 200 * time.Millisecond, 200 * time.Millisecond, 6 * time.Second},
		0.5: {0, 4 * time.Second, 4 * time.Second, 2 * time.Minute},
		0:   {0, 0, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			n := 0
			err := play(t.Context(), events, speed, 0, func(e timeline.Event) error {
				if got := time.Since(start); got != want[n] {
					t.Errorf("speed %g, event %d: after %s, want %s", speed, n, got, want[n])
				}
				n++
				return nil
			})
			if err != nil || n != len(events) {
				t.Errorf("speed %g: %d events, %v", speed, n, err)
			}
		})
	}
}

func TestPlay_NoPauseIsLongerThanTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), 0
		want := []time.Duration{0, 200 * time.Millisecond, 2200 * time.Millisecond, 2400 * time.Millisecond}
		err := play(t.Context(), []timeline.Event{{Seconds: 0}, {Seconds: 0.01}, {Seconds: 30}, {Seconds: 30.01}}, 0.05, 2*time.Second, func(timeline.Event) error {
			if got := time.Since(start).Round(time.Millisecond); got != want[n] {
				t.Errorf("event %d: after %s, want %s", n, got, want[n])
			}
			n++
			return nil
		})
		if err != nil || n != len(want) {
			t.Errorf("%d events, %v", n, err)
		}
	})
}

func TestPlay_TellingDelaysNothingThatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := play(t.Context(), []timeline.Event{{Seconds: 0}, {Seconds: 10}}, 1, 0, func(e timeline.Event) error {
			if got := time.Since(start).Seconds(); got != e.Seconds {
				t.Errorf("got the event of second %g at %g", e.Seconds, got)
			}
			time.Sleep(time.Second)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestPlay_EndsWithItsContextInTheMiddleOfAPause(t *testing.T) {
	for _, speed := range []float64{1, 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			start, n := time.Now(), 0
			err := play(ctx, []timeline.Event{{Seconds: 0}, {Seconds: 3600}}, speed, 0, func(timeline.Event) error {
				n++
				time.AfterFunc(time.Second, cancel)
				if speed == 0 {
					cancel()
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) || n != 1 || time.Since(start) > time.Second {
				t.Errorf("speed %g: %v after %d events and %s, want an end after one second", speed, err, n, time.Since(start))
			}
			cancel()
		})
	}
}

func TestPlay_EndsWhenNobodyReads(t *testing.T) {
	full := errors.New("full")
	if err := play(t.Context(), []timeline.Event{{}, {Seconds: 3600}}, 1, 0, func(timeline.Event) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want the error of the first line", err)
	}
	if err := play(t.Context(), nil, 1, 0, nil); err != nil {
		t.Errorf("no events: %v", err)
	}
}

func TestPickLane(t *testing.T) {
	begun := func(trial, lane int) timeline.Event {
		return timeline.Event{Kind: timeline.FaultIssued, Trial: trial, Lane: lane}
	}
	several, one := []timeline.Event{begun(1, 2), begun(2, 1), begun(3, 2)}, []timeline.Event{begun(1, 0), begun(2, 0)}
	for _, c := range []struct {
		events     []timeline.Event
		flags      replayFlags
		want       int
		err, again string
	}{
		{several, replayFlags{}, 1, "", ""},
		{several, replayFlags{lane: 2}, 2, "", ""},
		{several, replayFlags{from: 3}, 2, "", ""},
		{several, replayFlags{from: 3, lane: 2}, 2, "", ""},
		{several, replayFlags{from: 3, lane: 1}, 0, "trial 3 was done on lane 2, not on 1", "replay X --from 3"},
		{several, replayFlags{lane: 3}, 0, "the run has no lane 3, but 1 and 2", "replay X"},
		{several, replayFlags{from: 4}, 0, "the run has no trial 4", "replay X"},
		{one, replayFlags{}, 0, "", ""},
		{one, replayFlags{from: 2}, 0, "", ""},
		{one, replayFlags{lane: 1}, 0, "the run has no lanes", "replay X"},
		{nil, replayFlags{}, 0, "", ""},
		{nil, replayFlags{lane: 1}, 0, "the run has no lanes", "replay X"},
	} {
		got, err := pickLane(c.events, c.flags, "replay X")
		text, hint := "", ""
		if problem, ok := errors.AsType[*provider.Problem](err); ok {
			text, hint = problem.Error(), problem.Hint
		}
		if got != c.want || text != c.err || hint != c.again {
			t.Errorf("%+v: got %d, %q, %q; want %d, %q, %q", c.flags, got, text, hint, c.want, c.err, c.again)
		}
	}
}

func TestTold_KnowsWhatWasBeforeItsBeginning(t *testing.T) {
	r := fixtureRecord(t)
	for _, trial := range []int{0, 1, 2, 3, 4} {
		lane, err := pickLane(r.Events, replayFlags{from: trial}, "")
		if err != nil {
			t.Fatal(err)
		}
		own := timeline.Lane(r.Events, lane)
		before, events := begin(own, trial)
		if len(before)+len(events) != len(own) {
			t.Fatalf("trial %d: %d events before and %d after, of %d", trial, len(before), len(events), len(own))
		}
		var out strings.Builder
		if err := play(t.Context(), events, 0, 0, told(&out, boardConfig(r.Info, r.Events), before)); err != nil {
			t.Fatal(err)
		}
		if first := len(before) == 0; strings.Contains(out.String(), "lease    held by") != first {
			t.Errorf("trial %d: the Lease's state is told again, although it was known, or not at all:\n%s", trial, out.String())
		}
		if want := map[bool]int{true: 2, false: 1}[len(before) == 0]; strings.Count(out.String(), "  fault    ") != 2*want {
			t.Errorf("trial %d: want %d faults in\n%s", trial, want, out.String())
		}
	}
}
