package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/tui"
)

// live shows the view of a lab, or of the lab that comes up.
func (a *app) live(ctx context.Context, w lab.Watching, readOnly bool) error {
	w.Start = time.Now()
	// The view wakes up some fifty times a second for a tenth of a millisecond. To hand that from one processor to another costs
	// an eighth more than to do it on one.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := source{app: a, watching: w}
	options := tui.Options{Up: a.typed("labctl up"), Start: w.Start, Source: s.follow, Export: export,
		Config: board.Config{Header: report.Header{Lease: w.Namespace + "/" + w.Lease}, Namespace: w.Namespace, Followed: w.Lease != ""}}
	if w.Lease == "" {
		options.Config = board.Config{}
	}
	act := &actions{app: a, start: w.Start}
	if !readOnly && w.Lease == "" {
		options.Actions = act
	}
	err := tui.Run(ctx, options, a.streams.In, a.screen())
	if act.left != "" {
		fmt.Fprintln(a.streams.Err, timeline.Visible(act.left))
	}
	return err
}

// screen is the terminal itself: the view needs its size.
func (a *app) screen() *os.File {
	out := a.streams.Out
	if o, ok := out.(*output); ok {
		out = o.to
	}
	return out.(*os.File)
}

// source follows a lab for the view: it waits for one, and connects again when it was lost.
type source struct {
	app      *app
	watching lab.Watching
}

// noLabEvery is how often a lab is looked for; an error is tried again after retryFirst, then twice as long, up to retryMost.
const noLabEvery, retryFirst, retryMost = time.Second, 500 * time.Millisecond, 2 * time.Second

func (s source) follow(ctx context.Context, feed *tui.Feed) {
	back := retryFirst
	for n := 1; ctx.Err() == nil; n++ {
		connected, err := s.once(ctx, feed)
		if connected {
			n, back = 1, retryFirst
		}
		link := tui.Link{State: tui.NoLab, Attempt: n}
		pause := noLabEvery
		if !errors.Is(err, provider.ErrNoLab) {
			pause = back
			back = min(2*back, retryMost)
			link = tui.Link{State: tui.Broken, Attempt: n + 1, Retry: time.Now().Add(pause), Text: reason(err)}
		}
		feed.Link(link)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// reason is an error in the words of the errors that commands print.
func reason(err error) string {
	switch {
	case err == nil:
		return "the watching ended"
	case unreachable(err):
		return "the API server does not answer: " + root(err).Error()
	default:
		return err.Error()
	}
}

// once follows the lab until it is lost.
func (s source) once(ctx context.Context, feed *tui.Feed) (connected bool, err error) {
	l, err := s.app.open(ctx, func(string) {})
	if err != nil {
		return false, err
	}
	config, err := configOf(ctx, l, s.watching)
	if err != nil {
		return false, err
	}
	feed.Config(config)
	feed.Modes(l.Modes())
	feed.Link(tui.Link{State: tui.Live})
	w, first := s.watching, true
	w.Listed = feed.Listed
	w.On = func(e timeline.Event) {
		feed.Event(e)
		if e.Kind == timeline.Deployed && !first {
			go func() { // somebody may have changed the settings; what fails is tried with the next change
				if config, err := configOf(ctx, l, s.watching); err == nil {
					feed.Config(config)
				}
			}()
		}
		first = first && e.Kind != timeline.Deployed
	}
	return true, l.Watch(ctx, w)
}

// configOf is what runs.
func configOf(ctx context.Context, l *lab.Lab, w lab.Watching) (board.Config, error) {
	c := board.Config{Header: report.Header{Provider: l.Cluster.Provider, Lease: w.Namespace + "/" + w.Lease, Kubernetes: l.Cluster.Kubernetes}, Namespace: w.Namespace,
		SharedClock: l.Cluster.SharedClock, Followed: w.Lease != ""}
	if !c.Followed {
		header, err := l.Running(ctx)
		if err != nil {
			return c, err
		}
		c.Header, c.Namespace = header, l.Deployment.Namespace
	}
	return c, nil
}

// actions is what the view does to the lab.
type actions struct {
	app   *app
	start time.Time
	left  string // what became of a failover that the end of the view cut short
}

// Failover does one failover as the command of that name does. The view watches by itself; of the run's events it needs
// the announcement, which is put on its clock, and the end.
func (a *actions) Failover(ctx context.Context, mode fault.Mode, feed *tui.Feed) (string, error) {
	l, err := a.app.open(ctx, feed.Say)
	if err != nil {
		return "", err
	}
	runs, err := lab.RunsDir()
	if err != nil {
		return "", err
	}
	seed, modes, err := drawn([]fault.Mode{mode})
	if err != nil {
		return "", err
	}
	result, err := l.Failover(ctx, lab.Options{Modes: modes, Trials: 1, Seed: seed, RunsDir: runs, Version: provider.Version(),
		OnMeasure: feed.Trial,
		OnTrial:   func(_, _ int, t timeline.Trial) { feed.Trial(t) },
		OnEvent: func(e timeline.Event) {
			switch e.Kind {
			case timeline.FaultIssued:
				feed.Say("done; waiting for a successor that works")
			case timeline.FaultAccepted, timeline.TrialEnded:
			default:
				return
			}
			e.Seconds = time.Since(a.start).Seconds()
			feed.Event(e)
		}})
	if ctx.Err() != nil {
		a.left = cutShort(mode, result)
	}
	return result.Run, err
}

// cutShort tells what became of a failover that was ended before its time.
func cutShort(mode fault.Mode, result report.Failover) string {
	switch {
	case result.Run == "":
		return fmt.Sprintf("the failover (%s) was ended before it began: nothing was done, and nothing is recorded", mode)
	case len(result.Trials) > 0 && result.Trials[0].Complete():
		return fmt.Sprintf("the failover (%s) was done; recorded: %s", mode, result.Run)
	default:
		return fmt.Sprintf("the failover (%s) was ended before its figures were whole; what was seen: %s", mode, result.Run)
	}
}

// export keeps a text beside where labctl was called.
func export(text string) (string, error) {
	path := fmt.Sprintf("labctl-watch-%s.txt", time.Now().Format("20060102-150405"))
	return path, os.WriteFile(path, []byte(text), 0o644)
}
