// Package lean gives memory back that a process needed to start and does not need to run.
package lean

import (
	"context"
	"runtime/debug"
	"time"
)

// Settle waits until the start is over, then runs a collection, returns free heap to the system and unmaps the
// pages of the executable that were read for the start; those still in use come back by themselves when touched.
// From then on the heap may grow by gcPercent between two collections. It returns when that is done or ctx has ended.
func Settle(ctx context.Context, after time.Duration, gcPercent int) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(after):
	}
	debug.SetGCPercent(gcPercent)
	debug.FreeOSMemory()
	releaseExecutable()
}
