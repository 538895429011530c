package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
)

// screenText is a terminal's output that can be waited on.
type screenText struct {
	mu   sync.Mutex
	text bytes.Buffer
	grew chan struct{}
}

func newScreenText() *screenText { return &screenText{grew: make(chan struct{}, 1)} }

func (s *screenText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.grew <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

func (s *screenText) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

// until waits for a text.
func (s *screenText) until(t testing.TB, text string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for !s.has(text) {
		select {
		case <-s.grew:
		case <-limit:
			t.Fatalf("%q is not on the screen", text)
		}
	}
}

const restored = "\x1b[?1049l" // the alternate screen is left

// shown runs a view over a pipe that stands for the keyboard.
func shown(t testing.TB, ctx context.Context, o Options) (keys io.Writer, screen *screenText, ended chan error) {
	t.Helper()
	in, keys := io.Pipe()
	screen, ended = newScreenText(), make(chan error, 1)
	go func() { ended <- Run(ctx, o, in, screen) }()
	screen.until(t, "? help")
	return keys, screen, ended
}

func TestRun_GivesTheTerminalBack(t *testing.T) {
	live := func(ctx context.Context, feed *Feed) {
		feed.Link(Link{State: Live})
		<-ctx.Done()
	}
	for name, end := range map[string]func(keys io.Writer, cancel func()) error{
		"q":      func(keys io.Writer, _ func()) error { fmt.Fprint(keys, "q"); return nil },
		"ctrl-c": func(keys io.Writer, _ func()) error { fmt.Fprint(keys, "\x03"); return nil },
		"the terminal closes, or a signal": func(_ io.Writer, cancel func()) error {
			cancel()
			return context.Canceled
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		keys, screen, ended := shown(t, ctx, Options{Start: time.Now(), Config: config, Source: live})
		want := end(keys, cancel)
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if !screen.has(restored) {
			t.Errorf("%s: the terminal is not given back", name)
		}
		cancel()
	}
}

// broken panics when it is asked to do something, as a defect would.
type broken struct{}

func (broken) Failover(context.Context, fault.Mode, *Feed) (string, error) { panic("a defect") }

func TestRun_APanicGivesTheTerminalBack(t *testing.T) {
	source := func(ctx context.Context, feed *Feed) {
		feed.Modes(allModes)
		feed.Link(Link{State: Live})
		feed.Event(timeline.Event{Kind: timeline.LeaseSeen, Seconds: 1, Wall: wall(1), Lease: &timeline.Lease{Holder: "pod-a", LeaseDurationSeconds: 15}})
		<-ctx.Done()
	}
	keys, screen, ended := shown(t, t.Context(), Options{Start: time.Now(), Config: config, Source: source, Actions: broken{}})
	screen.until(t, "live")
	fmt.Fprint(keys, "f")
	screen.until(t, "CONFIRM")
	fmt.Fprint(keys, "y")
	if err := <-ended; !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("got %v, want a panic that was caught", err)
	}
	if !screen.has(restored) {
		t.Error("the terminal is not given back")
	}
}

// BenchmarkEventToScreen tells how long an event takes to the terminal: p95 of b.N.
func BenchmarkEventToScreen(b *testing.B) {
	feeds := make(chan *Feed)
	source := func(ctx context.Context, feed *Feed) {
		feed.Link(Link{State: Live})
		feeds <- feed
		<-ctx.Done()
	}
	ctx, cancel := context.WithCancel(b.Context())
	in, _ := io.Pipe()
	screen, ended := newScreenText(), make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Start: time.Now(), Config: config, Source: source}, in, screen) }()
	feed := <-feeds
	var took []float64
	for i := 0; b.Loop(); i++ {
		time.Sleep(time.Duration(i*7919%97) * time.Millisecond) // at any phase of the renderer
		begun := time.Now()
		feed.Event(timeline.Event{Kind: timeline.LeaseSeen, Seconds: float64(i + 1), Wall: begun, Lease: &timeline.Lease{Holder: "pod-a", LeaseDurationSeconds: 15, Transitions: 100000 + i}})
		screen.until(b, fmt.Sprint(100000+i))
		took = append(took, time.Since(begun).Seconds()*1000)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)*95/100], "ms-p95")
	b.ReportMetric(took[len(took)-1], "ms-max")
	cancel()
	<-ended
}
