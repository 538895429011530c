package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/timeline"
)

// Probe asks a part of the cluster for a sign of life.
type Probe struct {
	What string
	Ask  func(ctx context.Context) error

	server bool // it is the API server, whose silence is told while it lasts
}

// A part that did not answer for longer than pulseLate may have held up what a trial waits for.
const (
	pulseEvery = 250 * time.Millisecond
	pulseLate  = time.Second
	pulseLimit = 10 * time.Second
	// pulseSlowest is the longest pause between attempts while the API server is away.
	pulseSlowest = 1500 * time.Millisecond
)

// apiProbe reads the Lease, which takes the API server and its store.
func (o *Observer) apiProbe() Probe {
	return Probe{What: "the API server", server: true, Ask: func(ctx context.Context) error {
		_, err := o.config.Client.CoordinationV1().Leases(o.config.LeaseNamespace).Get(ctx, o.config.Lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // it answered
		}
		return err
	}}
}

// pulse asks again and again, and records a hole when there was no answer for a while: on the next answer, or when the
// watching ends without one.
func (o *Observer) pulse(ctx context.Context, p Probe) {
	answered := time.Now()
	missed := func() {
		if away := time.Since(answered); away > pulseLate {
			o.hole(p.What+" did not answer", away)
		}
	}
	defer missed()
	quiet := o.silence(p)
	defer quiet.end()
	for wait := pulseEvery; pause(ctx, wait); {
		asking, cancel := context.WithTimeout(ctx, pulseLimit)
		err := p.Ask(asking)
		cancel()
		if err == nil {
			missed()
			answered = time.Now()
		}
		wait = quiet.answer(err)
	}
}

// silence tells that the API server does not answer while that lasts, where a hole is told only afterwards.
type silence struct {
	observer *Observer
	probe    Probe
	timer    *time.Timer

	mu    sync.Mutex
	since time.Time
	told  bool
	last  error
	tries int           // since the last answer
	wait  time.Duration // before the next one
}

func (o *Observer) silence(p Probe) *silence {
	s := &silence{observer: o, probe: p, since: time.Now(), wait: pulseEvery}
	s.timer = time.AfterFunc(pulseLate, s.tell)
	if !p.server {
		s.timer.Stop()
	}
	return s
}

// tell is called when there was no answer for pulseLate.
func (s *silence) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = true
	s.away(nil)
}

// away is called with mu held.
func (s *silence) away(retry *timeline.Retry) {
	note := fmt.Sprintf("%s has not answered for %s", s.probe.What, max(pulseLate, time.Since(s.since).Round(100*time.Millisecond)))
	if s.last != nil {
		note += ": " + s.last.Error()
	}
	s.observer.Emit(timeline.Event{Kind: timeline.ServerAway, Note: note, Retry: retry})
}

// answer takes the outcome of a question and returns how long to wait before the next one: longer each time once the silence
// was told.
func (s *silence) answer(err error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = err
	if err == nil {
		s.answered()
		return s.wait
	}
	s.tries++
	if s.told {
		s.wait = min(2*s.wait, pulseSlowest)
		s.away(&timeline.Retry{Attempt: s.tries, NextSeconds: s.wait.Seconds()})
	}
	return s.wait
}

// answered is called with mu held.
func (s *silence) answered() {
	s.tries, s.wait = 0, pulseEvery
	if !s.probe.server {
		return
	}
	if s.told {
		s.told = false
		s.observer.Emit(timeline.Event{Kind: timeline.ServerBack, Note: fmt.Sprintf("%s answers again, after %.2f s", s.probe.What, time.Since(s.since).Seconds())})
	}
	s.since = time.Now()
	s.timer.Reset(pulseLate + pulseEvery)
}

func (s *silence) end() { s.timer.Stop() }

// heed notices when this program itself did not run for a while, stopped or starved, and when the whole machine was
// suspended: what arrived then is stamped late, or with a clock that stood. A wall clock that is set tells neither.
func (o *Observer) heed(ctx context.Context) {
	const every, most = 200 * time.Millisecond, 700 * time.Millisecond
	asleep := sleeper(asleepFor)
	for last := time.Now(); pause(ctx, every); last = time.Now() {
		if slept := asleep(); slept > 0 {
			o.hole("the machine was suspended", slept)
		}
		if stood := time.Since(last); stood > most {
			o.hole("this program stood still", stood)
		}
	}
}

// sleepLeast is the least suspension that is told: reading two clocks one after the other takes microseconds.
const sleepLeast = 50 * time.Millisecond

// sleeper returns how long the machine was suspended since the last call, from a reading of its total.
func sleeper(total func() (time.Duration, error)) func() time.Duration {
	last, err := total()
	return func() time.Duration {
		now, again := total()
		if err = errors.Join(err, again); err != nil {
			return 0 // this system can't tell; docs/measuring.md says which
		}
		slept := now - last
		if slept < sleepLeast {
			return 0
		}
		last = now
		return slept
	}
}

// errNoClock is returned where the system has no pair of clocks that tells a suspension.
var errNoClock = fmt.Errorf("no clock tells a suspension")
