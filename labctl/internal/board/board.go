// Package board owns what a live view shows: it reduces timeline events, one by one, to the Lease, the replicas' lines, the
// failovers and the holes, and answers for any moment of its memory. It touches no cluster, clock or network.
package board

import (
	"math"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Config is what runs, as far as no event tells it.
type Config struct {
	report.Header
	// Namespace is that of the replicas.
	Namespace string
	// SharedClock is whether the replicas and the API server read the observer's clock.
	SharedClock bool
	// Followed is whether it is just any Lease: nothing is known of its candidates.
	Followed bool
	// Lock is whether the Lease is a job lock: nobody leads by it, so that nobody is missed either.
	Lock bool
}

// remember is how much of the past is kept, in seconds.
const remember = 2 * 60 * 60

// linesOfGone is for how long the whole log of a replica that is gone is kept, in seconds; then its last lines are.
const linesOfGone = 10 * 60

var forever = math.Inf(1)

// Board is the reduced record. Its methods must not be called concurrently.
type Board struct {
	config Config
	last   timeline.Event // for the two clocks: Seconds and Wall
	began  float64        // the first event
	first  float64        // when what was there at the beginning had been told
	any    bool           // an event was seen

	writes    []write
	holder    *replica // the one whose name is in the record; nil if there is none
	term      term
	suspects  []suspect
	replicas  []*replica
	processes bool // the node tells starts and ends
	failovers []*Failover
	away      []span  // when the API server did not answer
	retries   []retry // of the API server, while it was away
	holes     []Hole
	recent    recent
	pauses    []float64 // between the last renewals
	lost      spans     // when there was no lab to watch
	settling  bool      // the lab is made ready for a fault: what happens to it is not somebody's doing
}

// retry is a failed attempt to reach the API server.
type retry struct {
	at float64
	timeline.Retry
}

// Hole is a while in which events may have been missed or came late.
type Hole struct {
	At   float64
	Note string
}

// New returns an empty Board.
func New(config Config) *Board { return &Board{config: config.visible()} }

// visible makes every text of the configuration one that can be printed; see timeline.Visible.
func (c Config) visible() Config {
	c.Header, c.Namespace = c.Header.Visible(), timeline.Visible(c.Namespace)
	return c
}

// Begin tells what the wall clock read when the run's clock read 0, for as long as no event tells it.
func (b *Board) Begin(wall time.Time) {
	if !b.any {
		b.last.Wall = wall
	}
}

// Configure replaces what is known of what runs; the memory stays.
func (b *Board) Configure(config Config) { b.config = config.visible() }

// Config returns what runs. RetryPeriod is the observed pause between renewals where it is not configured.
func (b *Board) Config() Config {
	c := b.config
	if c.Timing.LeaseDuration == 0 {
		if i := b.renewal(b.last.Seconds); i >= 0 {
			c.Timing.LeaseDuration = time.Duration(b.writes[i].lease.LeaseDurationSeconds) * time.Second
		}
	}
	if c.Timing.RetryPeriod == 0 && len(b.pauses) > 0 {
		c.Timing.RetryPeriod = time.Duration(median(b.pauses) * float64(time.Second)).Round(100 * time.Millisecond)
	}
	return c
}

// opening is within which what was there at the beginning is told, in seconds.
const opening = 1.0

// Span returns the first and the last moment that the Board knows of. The first is when all that was there at the beginning
// had been told.
func (b *Board) Span() (first, last float64) {
	return max(b.first, b.last.Seconds-remember), b.last.Seconds
}

// Wall returns the observer's wall clock at a moment.
func (b *Board) Wall(at float64) time.Time {
	return b.last.Wall.Add(time.Duration((at - b.last.Seconds) * float64(time.Second)))
}

// clock puts a time that a replica or the API server wrote on the run's clock; the arrival where the clocks are not one.
func (b *Board) clock(e timeline.Event, written time.Time) float64 {
	if !b.config.SharedClock || written.IsZero() || written.After(e.Wall) {
		return e.Seconds
	}
	return e.Seconds - e.Wall.Sub(written).Seconds()
}

// On takes the next event.
func (b *Board) On(e timeline.Event) {
	e = e.Visible()
	if !b.any {
		b.any, b.began, b.first, b.last = true, e.Seconds, e.Seconds, e
	}
	if (e.Lease != nil || e.Pod != nil || e.Deploy != nil) && e.Seconds <= b.began+opening {
		b.first = max(b.first, e.Seconds)
	}
	if e.Seconds >= b.last.Seconds {
		b.last = timeline.Event{Seconds: e.Seconds, Wall: e.Wall}
	}
	b.confirm(e.Seconds)
	b.watchman(&e) // before the event changes what it is judged by
	b.reduce(e)
	b.recent.push(e, b.open() == nil)
	b.follow(e)
}

func (b *Board) reduce(e timeline.Event) {
	switch e.Kind {
	case timeline.LeaseSeen, timeline.LeaseGone:
		b.lease(e)
	case timeline.PodSeen, timeline.PodGone:
		b.pod(e)
	case timeline.ProcessUp, timeline.ProcessGone:
		b.process(e)
	case timeline.LogLine:
		b.log(e)
	case timeline.WorkSeen:
		if r := b.named(e.Work.Holder, e.Seconds); r != nil {
			b.works(r, b.clock(e, e.Work.At), e.Seconds)
		}
	case timeline.WatchHole:
		b.holes = append(b.holes, Hole{At: e.Seconds, Note: e.Note})
		if len(b.holes) > 100 {
			b.holes = b.holes[1:]
		}
	case timeline.ServerAway:
		if n := len(b.away); n == 0 || b.away[n-1].to != forever {
			b.away = append(b.away, span{e.Seconds - awaySince, forever})
		}
		if e.Retry != nil {
			b.retries = tail(append(b.retries, retry{at: e.Seconds, Retry: *e.Retry}), 64)
		}
	case timeline.ServerBack:
		if n := len(b.away); n > 0 && b.away[n-1].to == forever {
			b.away[n-1].to = e.Seconds
		}
	}
}

// awaySince is how long the API server has not answered when that is told.
const awaySince = 1.0

func (b *Board) log(e timeline.Event) {
	r := b.byUID(e.Log.UID)
	if r == nil {
		return
	}
	if e.Log.Message == api.MessageReconcile {
		b.works(r, b.clock(e, e.Log.Time), e.Seconds)
		return
	}
	r.line(Line{At: b.clock(e, e.Log.Time), Level: e.Log.Level, Text: e.Log.Message, Raw: e.Log.Raw})
	if e.Log.Message == api.MessageAttempt {
		r.polls = tail(append(r.polls, b.clock(e, e.Log.Time)), 64)
	}
}

// tail keeps the last n.
func tail[T any](values []T, n int) []T {
	if len(values) > 2*n {
		return append([]T(nil), values[len(values)-n:]...)
	}
	return values
}
