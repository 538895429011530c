package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/timeline"
)

type watchFlags struct {
	plain    bool
	readOnly bool
	lease    string
}

func (a *app) watchCommand() *cobra.Command {
	var f watchFlags
	c := &cobra.Command{
		Use:   "watch",
		Short: "Follow the Lease live: who holds it, how old the renewal is, how long nobody leads",
		Long: "watch draws the Lease, the window of a takeover, a line for each replica, and the last failovers, until q.\n" +
			"With --plain, without a terminal and with TERM=dumb it prints one line for each event instead, until Ctrl-C.\n" +
			"It can take the leader away itself (g, f, m); ? shows every key.",
		Example: "  labctl watch\n  labctl watch --plain\n  labctl watch --lease kube-system/my-lease",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.watch(c, f) },
	}
	c.Flags().BoolVar(&f.plain, "plain", false, "print one line for each event, for a screen reader or a file")
	c.Flags().BoolVar(&f.readOnly, "read-only", false, "only show: no key does anything to the lab")
	c.Flags().StringVar(&f.lease, "lease", "", "follow any Lease of the lab's cluster: NAMESPACE/NAME")
	return c
}

func (a *app) watch(c *cobra.Command, f watchFlags) error {
	var w lab.Watching
	if c.Flags().Changed("lease") {
		var err error
		if w.Namespace, w.Lease, err = namespaced("--lease", f.lease); err != nil {
			return usageError{command: c.CommandPath(), err: err}
		}
	}
	if !f.plain && !a.json && drawable(a.streams) {
		return a.live(c.Context(), w, f.readOnly)
	}
	l, err := a.open(c.Context(), func(string) {})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	if a.json {
		tell := raw(a.streams.Out)
		w.On = func(e timeline.Event) {
			if tell(e) != nil {
				cancel() // nobody reads any more
			}
		}
		return l.Watch(ctx, w)
	}
	config, err := configOf(ctx, l, w)
	if err != nil {
		return err
	}
	tellTo(a.streams.Out, board.NewTeller(config), &w, cancel)
	return l.Watch(ctx, w)
}

// tellTo prints what is watched, one line for each event, until nobody reads any more.
func tellTo(out io.Writer, teller *board.Teller, w *lab.Watching, stop func()) {
	w.Start = time.Now()
	start := w.Start
	var mu sync.Mutex // the end of the first list is told beside the events
	write := func(lines func() []string) {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines() {
			if _, err := fmt.Fprintln(out, line); err != nil {
				stop()
				return
			}
		}
	}
	w.On = func(e timeline.Event) { write(func() []string { return teller.Lines(e) }) }
	w.Listed = func() {
		write(func() []string { now := time.Now(); return teller.Listed(now.Sub(start).Seconds(), now) })
	}
}

// drawable reports whether a view can be drawn on the output and steered from the input.
func drawable(s Streams) bool {
	out := s.Out
	if o, ok := out.(*output); ok {
		out = o.to
	}
	in, ok := s.In.(*os.File)
	return ok && terminal(out) && terminal(in)
}
