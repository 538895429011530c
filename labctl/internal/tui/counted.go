package tui

import (
	"context"
	"sync"

	"academy.example/lab/labctl/internal/fault"
)

// counted lets whoever ends the view wait for a failover under way.
type counted struct {
	Actions
	acting *sync.WaitGroup
}

// Failover does one.
func (c *counted) Failover(ctx context.Context, mode fault.Mode, feed *Feed) (string, error) {
	c.acting.Add(1)
	defer c.acting.Done()
	return c.Actions.Failover(ctx, mode, feed)
}
