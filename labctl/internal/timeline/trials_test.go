package timeline

import (
	"reflect"
	"slices"
	"testing"

	"academy.example/lab/operator/api"
)

// laneOf is a kill on a lane, in run seconds after the given moment.
func laneOf(lane, trial int, at, takeover float64) []Event {
	s := steady().fault(9, "kill").end(9.01).lease(takeover, "other", 4).log(takeover+0.1, "other", api.MessageReconcile).add(takeover+3, Event{Kind: TrialEnded})
	events := slices.Clone(s.events)
	for i := range events {
		events[i].Lane, events[i].Seconds = lane, events[i].Seconds+at
		if events[i].Trial != 0 {
			events[i].Trial = trial
		}
	}
	return events
}

// mixed merges what two observers wrote side by side.
func mixed(lanes ...[]Event) []Event {
	all := slices.Concat(lanes...)
	slices.SortStableFunc(all, func(a, b Event) int {
		switch {
		case a.Seconds < b.Seconds:
			return -1
		case a.Seconds > b.Seconds:
			return 1
		default:
			return 0
		}
	})
	return all
}

func TestTrials_EachFromItsOwnLaneInOrderOfNumber(t *testing.T) {
	one, two, three := laneOf(1, 2, 0, 24), laneOf(2, 1, 0.003, 25), laneOf(1, 3, 40, 26)
	got := Trials(mixed(one, two, three))
	if len(got) != 3 {
		t.Fatalf("got %d trials, want 3", len(got))
	}
	for i, want := range []struct {
		lane int
		lock float64
	}{{2, 15.99}, {1, 14.99}, {1, 16.99}} {
		if got[i].Lane != want.lane || got[i].Void != "" || !near(*got[i].LockGapSeconds, want.lock) {
			t.Errorf("trial %d: lane %d, lock gap %v, void %q; want lane %d and %v", i+1, got[i].Lane, got[i].LockGapSeconds, got[i].Void, want.lane, want.lock)
		}
	}
	if again := Measure(three, 3); !reflect.DeepEqual(again, got[2]) {
		t.Errorf("the events of the trial alone give\n%+v, all of them\n%+v", again, got[2])
	}
}

func TestTrials_OneUnderWayIsLeftOut(t *testing.T) {
	under := laneOf(0, 2, 40, 25)
	got := Trials(mixed(laneOf(0, 1, 0, 24), under[:len(under)-1]))
	if len(got) != 1 || got[0].Lane != 0 || *got[0].LockGapSeconds != 14.99 {
		t.Errorf("got %d trials, want the one that ended", len(got))
	}
	if got := Trials(nil); got != nil {
		t.Errorf("no events: got %v", got)
	}
}

func TestCut_BeginsWhereTheTrialBeforeEnded(t *testing.T) {
	first, second := laneOf(0, 1, 0, 24), laneOf(0, 2, 40, 25)
	all := slices.Concat(first, second)
	if got := Cut(all, 1); len(got) != len(all) {
		t.Errorf("the first trial: got %d events, want all %d; Measure stops at its end", len(got), len(all))
	}
	if got := Cut(all, 2); len(got) != len(second) || got[0].Seconds != second[0].Seconds {
		t.Errorf("the second trial: got %d events, want its own %d", len(got), len(second))
	}
	if got := Cut(all, 3); got != nil {
		t.Errorf("a trial that was not begun: got %d events", len(got))
	}
}

func TestLanes(t *testing.T) {
	if got := Lanes(mixed(laneOf(3, 1, 0, 24), laneOf(1, 2, 0, 24))); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("got %v, want 1 and 3", got)
	}
}
