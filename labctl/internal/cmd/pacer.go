package cmd

import (
	"context"
	"time"
)

// pacer waits for the moments of a recorded run, on a clock that runs speed times as fast; with speed 0 it never waits.
type pacer struct {
	speed float64
	first float64   // the run's clock at the beginning, in seconds
	start time.Time // this machine's clock then
}

func newPacer(speed, first float64) pacer {
	return pacer{speed: speed, first: first, start: time.Now()}
}

// wait returns when the run's clock reads seconds, or with an error when ctx ends.
func (p pacer) wait(ctx context.Context, seconds float64) error {
	if p.speed == 0 {
		return ctx.Err()
	}
	due := time.Duration((seconds - p.first) / p.speed * float64(time.Second))
	timer := time.NewTimer(due - time.Since(p.start))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
