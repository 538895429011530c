package observe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/timeline"
)

// holes runs something in virtual time and returns the holes that it told.
func holes(t *testing.T, run func(ctx context.Context, o *Observer)) (told []timeline.Event) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := New(Config{Client: fake.NewClientset()})
		o.Listen(func(e timeline.Event) {
			if e.Kind == timeline.WatchHole {
				told = append(told, e)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		run(ctx, o)
	})
	return told
}

func TestPulse_AnAnswerThatTookTooLongIsAHole(t *testing.T) {
	for name, c := range map[string]struct {
		slow time.Duration // what the fourth answer takes
		want int
	}{"slow": {1500 * time.Millisecond, 1}, "a little slow": {700 * time.Millisecond, 0}, "quick": {0, 0}} {
		told := holes(t, func(ctx context.Context, o *Observer) {
			asked := 0
			o.pulse(ctx, Probe{What: "the store", Ask: func(context.Context) error {
				if asked++; asked == 4 {
					time.Sleep(c.slow)
				}
				return nil
			}})
		})
		if len(told) != c.want {
			t.Errorf("%s: got %d holes, want %d", name, len(told), c.want)
		}
		if c.want == 1 && (!strings.Contains(told[0].Note, "the store did not answer") || told[0].HoleSeconds != 1.75) {
			t.Errorf("%s: got %+v, want a hole of the pause and the answer, 1.75 s", name, told[0])
		}
	}
}

func TestPulse_RefusalsAreNoAnswers(t *testing.T) {
	told := holes(t, func(ctx context.Context, o *Observer) {
		begun := time.Now()
		o.pulse(ctx, Probe{What: "the API server", Ask: func(context.Context) error {
			if since := time.Since(begun); since > 3*time.Second && since < 5*time.Second {
				return errors.New("connection refused")
			}
			return nil
		}})
	})
	if len(told) != 1 || told[0].HoleSeconds < 2 || told[0].HoleSeconds > 2.5 {
		t.Errorf("got %+v, want one hole of the two seconds and a pause", told)
	}
}

// The silence of the API server is told while it lasts, a second after the last answer, and its end at once.
func TestPulse_TheServersSilenceIsToldWhileItLasts(t *testing.T) {
	type told struct {
		kind timeline.Kind
		at   float64
	}
	for name, ask := range map[string]func(ctx context.Context, since time.Duration) error{
		"refused": func(context.Context, time.Duration) error { return errors.New("connection refused") },
		"hanging": func(ctx context.Context, since time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5*time.Second - since):
				return nil
			}
		},
	} {
		var got []told
		synctest.Test(t, func(t *testing.T) {
			o := New(Config{Client: fake.NewClientset()})
			o.Listen(func(e timeline.Event) {
				if e.Kind != timeline.WatchHole {
					got = append(got, told{e.Kind, e.Seconds})
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begun := time.Now()
			o.pulse(ctx, Probe{What: "the API server", server: true, Ask: func(ctx context.Context) error {
				if since := time.Since(begun); since > 2*time.Second && since < 5*time.Second {
					return ask(ctx, since)
				}
				return nil
			}})
		})
		n := len(got)
		if n < 2 || got[0].kind != timeline.ServerAway || got[n-1].kind != timeline.ServerBack {
			t.Fatalf("%s: got %v, want away and back", name, got)
		}
		// Refused, it is asked again after a pause that has grown to 1.5 s; a question that hangs is answered at once.
		if away, back, late := got[0].at, got[n-1].at, 1.5; away < 3 || away > 3.5 || back < 5 || back > 5.3+late {
			t.Errorf("%s: away told at %g, back at %g; want 3 to 3.5 and 5 to %g", name, away, back, 5.3+late)
		}
	}
}

func TestPulse_ASilenceUntilTheEndIsToldAtTheEnd(t *testing.T) {
	told := holes(t, func(ctx context.Context, o *Observer) {
		o.pulse(ctx, Probe{What: "the node", Ask: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
	})
	if len(told) != 1 || told[0].HoleSeconds != 10 {
		t.Errorf("got %+v, want one hole of the whole ten seconds", told)
	}
}

func TestSleeper_TellsASuspensionOnceAndNotADrift(t *testing.T) {
	var total time.Duration
	slept := sleeper(func() (time.Duration, error) { return total, nil })
	for i, step := range []struct{ add, want time.Duration }{
		{0, 0}, {time.Millisecond, 0}, {42 * time.Second, 42*time.Second + time.Millisecond}, {0, 0}, {30 * time.Millisecond, 0},
	} {
		total += step.add
		if got := slept(); got != step.want {
			t.Errorf("step %d: got %s, want %s", i, got, step.want)
		}
	}
}

func TestSleeper_WithoutClocksTellsNothing(t *testing.T) {
	slept := sleeper(func() (time.Duration, error) { return 0, errNoClock })
	if got := slept(); got != 0 {
		t.Errorf("got %s", got)
	}
}

func TestAsleepFor_ReadsThisMachinesClocks(t *testing.T) {
	if total, err := asleepFor(); err != nil || total < 0 {
		t.Errorf("got %s, %v; want a time since the start", total, err)
	}
}

// A server that stays away is asked less and less often, and each attempt is told with the pause that follows.
func TestPulse_BacksOffWhileTheServerIsAway(t *testing.T) {
	var got []timeline.Retry
	synctest.Test(t, func(t *testing.T) {
		o := New(Config{Client: fake.NewClientset()})
		o.Listen(func(e timeline.Event) {
			if e.Retry != nil {
				got = append(got, *e.Retry)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		o.pulse(ctx, Probe{What: "the API server", server: true, Ask: func(context.Context) error { return errors.New("connection refused") }})
	})
	// Attempts at 0.25, 0.5 and 0.75 s come before the silence is told. The one at 1 s may come just before it too; the next
	// ones follow after pauses of 0.5, 1 and 1.5 s.
	want := []float64{0.5, 1, 1.5, 1.5}
	if len(got) < len(want) || got[0].Attempt < 4 || got[0].Attempt > 5 {
		t.Fatalf("got %v", got)
	}
	for i, pause := range want {
		if w := (timeline.Retry{Attempt: got[0].Attempt + i, NextSeconds: pause}); got[i] != w {
			t.Errorf("attempt %d: got %+v, want %+v", i, got[i], w)
		}
	}
}
