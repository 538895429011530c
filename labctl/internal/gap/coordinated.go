package gap

import (
	"fmt"
	"slices"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Constants of the controller that elects in the API server, in seconds; docs/coordinated.md cites each.
const (
	requeueSeconds = 5 // it looks at a Lease at least this often
	answerSeconds  = 5 // it waits this long for a candidate that it has asked whether it is there, and takes an older answer no more
	namedSeconds   = 5 // leaseDurationSeconds of a holder that it has named
)

// elected is the range of the lock gap where the API server elects: until it names a candidate that is there. That one leads from
// its next poll on, after at most 2.2·RetryPeriod.
func (in Input) elected(class timeline.Class) Prediction {
	lease, retry, start := in.Timing.LeaseDuration.Seconds(), in.Timing.RetryPeriod.Seconds(), 0.0
	if in.Standbys < 1 {
		start = in.ReplacementStart
	}
	if class == timeline.Released {
		return Prediction{MinSeconds: 0, MaxSeconds: start + namedSeconds + requeueSeconds + answerSeconds,
			Terms: "the API server elects at once; if the old holder still counts as there it may be named again, for 5 s, and that is noticed 0 … 5 s later; " +
				"then the API server asks the candidates, and waits 5 s for the one that is gone"}
	}
	return Prediction{MinSeconds: lease - retry, MaxSeconds: max(lease, namedSeconds, start) + requeueSeconds + answerSeconds,
		Terms: "LeaseDuration − age of the last renewal (0 … RetryPeriod), by the API server's clock + its next look (0 … 5 s) + 5 s for the answer of " +
			"the candidate that is gone, unless it was asked before"}
}

// Elects returns nil if there is a model of the mode under the coordinated election, else an error that says why not.
func Elects(m fault.Mode) error {
	if slices.Contains([]fault.Mode{fault.Graceful, fault.ForceDelete, fault.Kill, fault.Crash, fault.Rollout, fault.Evict, fault.Upgrade}, m) {
		return nil
	}
	return fmt.Errorf("there is no model of %s under the %s election: the API server elects by its own clock and its own record of candidates", m, api.ElectionCoordinated)
}

// Pace is how long a replica of a new version must be ready before the next one is replaced, so that the Lease of the holder that
// went first has a new one by then: the longest gap after a release, until that one polls, and three seconds.
func Pace(in Input) time.Duration {
	p := Range(in, timeline.Released)
	return time.Duration((p.MaxSeconds+LongestPause*in.Timing.RetryPeriod.Seconds())*float64(time.Second)) + 3*time.Second
}
