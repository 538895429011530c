package cmd

import (
	"context"
	"path/filepath"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/labctl/internal/tui"
)

// drawReplay shows a recorded run in the view. Its events go to the board one by one, which keeps of a long run what can be
// drawn, and playing is moving over the board.
func (a *app) drawReplay(ctx context.Context, f replayFlags, args []string) error {
	path, err := findRun(f.runsDir, args)
	if err != nil {
		return err
	}
	info, err := lab.ReadInfo(path)
	if err != nil {
		return err
	}
	var faults []timeline.Event
	any := false
	if err := lab.EachEvent(path, func(e timeline.Event) {
		any = true
		if e.Kind == timeline.FaultIssued {
			faults = append(faults, e)
		}
	}); err != nil {
		return err
	}
	if !any {
		return noEvents(path)
	}
	lane, err := pickLane(faults, f, "labctl replay "+shellWord(path))
	if err != nil {
		return err
	}
	config := boardConfig(info, faults)
	record := tui.Recorded{Board: board.New(config), Name: timeline.Visible(filepath.Base(path)), Speed: f.speed}
	if err := lab.EachEvent(path, func(e timeline.Event) {
		if e.Lane == lane {
			record.Board.On(e)
		}
	}); err != nil {
		return err
	}
	record.From, _ = record.Board.Span()
	for _, e := range faults {
		if e.Trial == f.from && e.Lane == lane {
			record.From = max(record.From, e.Seconds-leadSeconds)
		}
	}
	if f.speed == 0 { // nothing is waited for: the end is shown, from which one can go back
		if record.Speed = 1; f.from == 0 {
			_, record.From = record.Board.Span()
		}
	}
	return tui.Run(ctx, tui.Options{Config: config, Recorded: &record, Export: export}, a.streams.In, a.screen())
}

// leadSeconds is how long before a trial's fault its replay begins.
const leadSeconds = 10
