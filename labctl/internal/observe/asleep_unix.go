//go:build linux || darwin

package observe

import (
	"time"

	"golang.org/x/sys/unix"
)

// between is how much the first clock is ahead of the second; the time between the two readings is in it.
func between(ahead, behind int32) (time.Duration, error) {
	var a, b unix.Timespec
	if err := unix.ClockGettime(behind, &b); err != nil {
		return 0, err
	}
	if err := unix.ClockGettime(ahead, &a); err != nil {
		return 0, err
	}
	return time.Duration(a.Nano() - b.Nano()), nil
}
