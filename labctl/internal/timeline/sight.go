package timeline

import (
	"slices"
	"time"

	"academy.example/lab/operator/api"
)

// Source says who told an instant.
type Source string

// The sources of instants.
const (
	SourceCommand Source = "command" // the answer to labctl's own request
	SourceNode    Source = "node"    // the node reaped the process
	SourceLease   Source = "lease"   // a watch of the Lease
	SourceWork    Source = "work"    // a watch of the work objects
	SourceLog     Source = "log"     // a line of a replica's log
)

// sighting is when something was seen, and how late that was.
type sighting struct {
	at     float64  // arrival, in run seconds
	lag    *float64 // arrival − the source's own time; nil where the clocks are not one
	source Source
	own    float64 // the source's own time on the run's clock; the arrival where that is not known
}

func (m *measurer) sight(e Event, source Source, written time.Time) sighting {
	s := sighting{at: e.Seconds, source: source, own: e.Seconds}
	switch {
	case source == SourceCommand:
		s.lag = new(float64)
	case m.fault.SharedClock && !written.IsZero():
		lag := round(max(0, e.Wall.Sub(written).Seconds()))
		s.lag, s.own = &lag, e.Seconds-lag
	}
	return s
}

// tellInstants writes down what was seen when, by whom and how late, and from that how sure the figures are.
func (m *measurer) tellInstants() {
	for name, s := range m.seen {
		m.out.InstantsSeconds[name] = round(s.at - m.t0)
		m.out.Sources[name] = s.source
		if s.lag != nil {
			m.out.LagsSeconds[name] = *s.lag
		}
	}
	if m.out.LockGapSeconds != nil {
		from := T3
		if m.out.Class == Released {
			from = T4
		}
		m.out.UncertaintySeconds = latest(m.seen[from].lag, m.seen[T5].lag)
		if !m.fault.SharedClock {
			m.out.UncertaintySeconds, m.out.ClockOffsetSeconds = spread(m.lags)
		}
	}
	if m.out.GapSeconds != nil {
		m.out.GapUncertaintySeconds = m.seen[T7].lag
	}
	if m.out.OverlapSeconds != nil {
		ticks := 2 * api.WorkTick.Seconds() // the work is seen at its ticks only, at either end
		m.out.OverlapUncertaintySeconds = &ticks
	}
}

// latest is the larger of two lags: a difference of two arrivals is off by that at most. It is nil if one is not known.
func latest(from, to *float64) *float64 {
	if from == nil || to == nil {
		return nil
	}
	late := max(*from, *to)
	return &late
}

// spread judges renewals whose times another clock wrote: the smallest arrival − renewTime is that clock's offset and the
// quickest delivery together, and the 95th percentile above it is how late events arrive. It needs three renewals.
func spread(lags []float64) (above, offset *float64) {
	const enough, recent = 4, 40
	if len(lags) < enough {
		return nil, nil
	}
	sorted := slices.Sorted(slices.Values(lags[max(1, len(lags)-recent):])) // the first is the state at list time, no arrival
	late, least := round(sorted[len(sorted)*95/100]-sorted[0]), round(sorted[0])
	return &late, &least
}
