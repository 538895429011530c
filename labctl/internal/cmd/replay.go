package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
)

type replayFlags struct {
	plain   bool
	speed   float64
	pause   time.Duration
	from    int
	lane    int
	runsDir string
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay [RUN]",
		Short: "Show a recorded run again, as `labctl watch` showed it",
		Long: "replay draws a recorded run as watch would have drawn it; it can be paused, sped up and gone back in.\n" +
			"With --plain, without a terminal and with TERM=dumb it prints one line for each event, with the pauses between them.\n" +
			"RUN is the name of a run in the folder of runs, or a path; without it, the newest run is taken. Ctrl-C ends it.",
		Example: "  labctl replay --speed 10\n  labctl replay 20261130-120000-failover --from 2\n  labctl replay --json --speed 0",
		Args:    oneRun,
		RunE:    func(c *cobra.Command, args []string) error { return a.replay(c, f, args) },
	}
	c.Flags().BoolVar(&f.plain, "plain", false, "print one line for each event, for a screen reader or a file")
	c.Flags().Float64Var(&f.speed, "speed", 1, "how many times as fast as it happened; 0 does not wait at all")
	c.Flags().DurationVar(&f.pause, "max-pause", 0, "the longest pause between two events with --plain and --json; 0 is as long as it was")
	c.Flags().IntVar(&f.from, "from", 0, "the trial to begin with, from where the one before it ended")
	c.Flags().IntVar(&f.lane, "lane", 0, "which lane, of a run with several; 0 is that of --from, else the first")
	c.Flags().StringVar(&f.runsDir, "runs-dir", "", "folder of the runs")
	return c
}

// slowest keeps a pause within what a timer can wait.
const slowest = 0.001

func (a *app) replay(c *cobra.Command, f replayFlags, args []string) error {
	usage := func(format string, args ...any) error {
		return usageError{command: c.CommandPath(), err: fmt.Errorf(format, args...)}
	}
	switch {
	case f.speed != 0 && !(f.speed >= slowest) || math.IsInf(f.speed, 0): // NaN is not either
		return usage("--speed %g is neither 0 nor %g or more", f.speed, slowest)
	case f.pause < 0:
		return usage("--max-pause %s is negative", f.pause)
	case f.from < 0:
		return usage("--from %d is not the number of a trial", f.from)
	case f.lane < 0:
		return usage("--lane %d is not the number of a lane", f.lane)
	}
	args, err := a.ofLab(c, f.runsDir, args)
	if err != nil {
		return err
	}
	if !f.plain && !a.json && drawable(a.streams) {
		if f.pause > 0 {
			return usage("--max-pause is for --plain and --json; in the view the arrow keys scrub, and > is faster")
		}
		return a.drawReplay(c.Context(), f, args)
	}
	record, err := readRecord(f.runsDir, args)
	if err != nil {
		return err
	}
	if len(record.Events) == 0 {
		return noEvents(record.Path)
	}
	again := "labctl replay " + shellWord(record.Path)
	lane, err := pickLane(record.Events, f, again)
	if err != nil {
		return err
	}
	if lanes := timeline.Lanes(record.Events); len(lanes) > 1 {
		fmt.Fprintf(a.streams.Err, "note: the run has lanes %s; this is lane %d (--lane picks another)\n", list(lanes), lane)
	}
	before, events := begin(timeline.Lane(record.Events, lane), f.from)
	tell := raw(a.streams.Out)
	if !a.json {
		tell = told(a.streams.Out, boardConfig(record.Info, record.Events), before)
	}
	return play(c.Context(), events, f.speed, f.pause, tell)
}

// noEvents is the problem of a run that ended before anything was seen of it.
func noEvents(path string) error {
	return &provider.Problem{Err: errors.New("the run has no events"), Hint: "ls -l " + shellWord(path)}
}

// boardConfig is what ran, as a run's record tells it.
func boardConfig(info lab.RunInfo, events []timeline.Event) board.Config {
	config := board.Config{Header: info.Header, Namespace: strings.Split(info.Operator, "/")[0]}
	i := slices.IndexFunc(events, func(e timeline.Event) bool { return e.Kind == timeline.FaultIssued })
	config.SharedClock = i >= 0 && events[i].Fault.SharedClock
	config.Lock = isTrace(info)
	return config
}

// pickLane returns the lane to show: the one asked for, else that of the trial to begin with, else the first.
func pickLane(events []timeline.Event, f replayFlags, again string) (int, error) {
	lanes, problem := timeline.Lanes(events), func(hint, format string, args ...any) (int, error) {
		return 0, &provider.Problem{Err: fmt.Errorf(format, args...), Hint: hint}
	}
	of := -1 // the lane of the trial
	for _, e := range events {
		if e.Kind == timeline.FaultIssued && e.Trial == f.from {
			of = e.Lane
		}
	}
	switch {
	case f.from > 0 && of < 0:
		return problem(again, "the run has no trial %d", f.from)
	case f.lane > 0 && !slices.Contains(lanes, f.lane) && slices.Max(append(lanes, 0)) == 0:
		return problem(again, "the run has no lanes")
	case f.lane > 0 && !slices.Contains(lanes, f.lane):
		return problem(again, "the run has no lane %d, but %s", f.lane, list(lanes))
	case f.lane > 0 && f.from > 0 && f.lane != of:
		return problem(fmt.Sprintf("%s --from %d", again, f.from), "trial %d was done on lane %d, not on %d", f.from, of, f.lane)
	case f.lane > 0:
		return f.lane, nil
	case f.from > 0:
		return of, nil
	case len(lanes) > 0:
		return lanes[0], nil
	default:
		return 0, nil
	}
}

// list writes numbers for people: 1, 2 and 3.
func list(numbers []int) string {
	text := ""
	for i, n := range numbers {
		switch {
		case i == 0:
		case i == len(numbers)-1:
			text += " and "
		default:
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text
}

// begin splits the events of a lane at the beginning of a trial; 0 is the beginning of the run.
func begin(events []timeline.Event, trial int) (before, from []timeline.Event) {
	if trial == 0 {
		return nil, events
	}
	cut := len(events) - len(timeline.Cut(events, trial))
	return events[:cut], events[cut:]
}

// raw prints each event as a line of JSON.
func raw(out io.Writer) func(timeline.Event) error {
	encoder := json.NewEncoder(out)
	return func(e timeline.Event) error { return encoder.Encode(e) }
}

// told prints each event in words, to somebody who knows what was before.
func told(out io.Writer, config board.Config, before []timeline.Event) func(timeline.Event) error {
	teller := board.NewTeller(config)
	for _, e := range before {
		teller.Lines(e)
	}
	return func(e timeline.Event) error {
		for _, line := range teller.Lines(e) {
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
		return nil
	}
}

// play hands on the events in their time, with no longer pause than most between two of them; 0 is any.
func play(ctx context.Context, events []timeline.Event, speed float64, most time.Duration, tell func(timeline.Event) error) error {
	if len(events) == 0 {
		return nil
	}
	pace, last := newPacer(speed, events[0].Seconds), events[0].Seconds
	for _, e := range events {
		if longest := most.Seconds() * speed; longest > 0 {
			pace.first += max(0, e.Seconds-last-longest)
		}
		last = max(last, e.Seconds)
		if err := pace.wait(ctx, e.Seconds); err != nil {
			return err
		}
		if err := tell(e); err != nil {
			return err
		}
	}
	return nil
}
