//go:build !linux && !darwin

package observe

import "time"

func asleepFor() (time.Duration, error) { return 0, errNoClock }
