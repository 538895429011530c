package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
)

// frames is how often in a second the terminal is written to at most.
const frames = 30

// Run shows the view until it is quit, which is no error, or ctx ends, which is. Whatever happens, the terminal is given
// back as it was.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	// The terminal is asked for its colours before the program reads keys from it.
	renderer := lipgloss.NewRenderer(out)
	renderer.SetHasDarkBackground(dark(in, out))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feed := newFeed()
	m := newModel(ctx, o, newTheme(renderer, signsFor(os.Getenv)), feed)
	var acting sync.WaitGroup
	if o.Actions != nil {
		m.options.Actions = &counted{o.Actions, &acting}
	}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler(), tea.WithFPS(frames))
	var running sync.WaitGroup
	guard := func(work func()) {
		running.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					program.Kill()
					program.Wait() // the terminal is as it was before anything is printed
					panic(r)
				}
			}()
			work()
		})
	}
	guard(func() { feed.pump(ctx, program.Send) })
	if o.Source != nil {
		guard(func() { o.Source(ctx, feed) })
	}
	_, err := program.Run()
	ended := ctx.Err()
	cancel()
	acting.Wait() // a failover under way ends in order
	running.Wait()
	switch {
	case ended != nil:
		return ended
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the view broke; its trace is above: %w", err)
	default:
		return err
	}
}
