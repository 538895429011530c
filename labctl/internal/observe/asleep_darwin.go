package observe

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleepFor is how long the machine has been suspended since it was started: CLOCK_MONOTONIC goes on then,
// CLOCK_UPTIME_RAW does not.
func asleepFor() (time.Duration, error) {
	return between(unix.CLOCK_MONOTONIC, unix.CLOCK_UPTIME_RAW)
}
