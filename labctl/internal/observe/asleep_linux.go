package observe

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleepFor is how long the machine has been suspended since it was started: CLOCK_BOOTTIME goes on then,
// CLOCK_MONOTONIC does not.
func asleepFor() (time.Duration, error) { return between(unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC) }
