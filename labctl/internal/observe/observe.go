// Package observe owns the watching: it turns what the API server, the node and the replicas' logs say into timeline
// events, stamped on arrival by one monotonic clock. It has no opinion on what they mean.
package observe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/timeline"
)

// Processes follows the starts and ends of replica processes where the node reports them; see provider.ProcessWatcher.
type Processes func(ctx context.Context, ready func(), on func(timeline.Kind, timeline.Process)) error

// Config says what is watched.
type Config struct {
	Client kubernetes.Interface
	// Namespace holds the Lease, the pods and the work objects.
	Namespace string
	// Lease is the name of the Lease.
	Lease string
	// Pods and Work are label selectors; an empty one watches nothing.
	Pods, Work string
	// Logs is whether the replicas' logs are read.
	Logs bool
	// Processes may be nil: the provider has no such stream.
	Processes Processes
}

// Observer watches and hands each event to its listeners, in one order for all of them.
type Observer struct {
	config Config
	start  time.Time

	mu        sync.Mutex
	trial     int
	listeners []func(timeline.Event)

	failed  chan error
	trouble atomic.Pointer[error] // the last request that failed
}

// New returns an Observer whose clock starts now.
func New(config Config) *Observer {
	return &Observer{config: config, start: time.Now(), failed: make(chan error, 1)}
}

// Listen adds a listener. Listeners are called one event at a time and must not block or call the Observer.
func (o *Observer) Listen(on func(timeline.Event)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listeners = append(o.listeners, on)
}

// SetTrial numbers the events that follow; 0 is outside of any trial.
func (o *Observer) SetTrial(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trial = n
}

// Now returns the run's clock: seconds since New.
func (o *Observer) Now() float64 { return time.Since(o.start).Seconds() }

// Emit stamps an event and hands it on. The stamp is taken when Emit is called.
func (o *Observer) Emit(e timeline.Event) { o.emitAt(time.Now(), e) }

func (o *Observer) emitAt(now time.Time, e timeline.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.Seconds, e.Wall, e.Trial = now.Sub(o.start).Seconds(), now.UTC(), o.trial
	for _, on := range o.listeners {
		on(e)
	}
}

// Failed delivers the error that ended the watching, if any: one that waiting does not mend, such as a missing right.
func (o *Observer) Failed() <-chan error { return o.failed }

func (o *Observer) fail(err error) {
	select {
	case o.failed <- err:
	default:
	}
}

// note keeps the last failure, for the error of a Start that does not succeed.
func (o *Observer) note(err error) { o.trouble.Store(&err) }

// hole records that events of the last while may be missing or late.
func (o *Observer) hole(what string, away time.Duration) {
	o.Emit(timeline.Event{Kind: timeline.WatchHole, HoleSeconds: away.Seconds(), Note: fmt.Sprintf("%s, away for %.2f s", what, away.Seconds())})
}

// startLimit bounds Start.
const startLimit = 30 * time.Second

// Start begins to watch and returns when nothing can be missed any more; the watching ends with ctx. It fails if that does
// not come about within 30 s. The returned function waits until all of it has ended.
func (o *Observer) Start(ctx context.Context) (wait func(), err error) {
	var running sync.WaitGroup
	var streams []stream
	streams = append(streams, o.leases())
	if o.config.Pods != "" {
		streams = append(streams, o.pods(ctx, &running))
	}
	if o.config.Work != "" {
		streams = append(streams, o.work())
	}
	ready := make(chan error, len(streams)+1)
	for _, s := range streams {
		running.Go(func() { o.follow(ctx, s, ready) })
	}
	expect := len(streams)
	if o.config.Processes != nil {
		expect++
		running.Go(func() { o.processes(ctx, ready) })
	}
	running.Go(func() { o.heed(ctx) })
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	for range expect {
		select {
		case err = <-ready:
		case <-limit.C:
			err = fmt.Errorf("the watching did not begin within %s", startLimit)
			if last := o.trouble.Load(); last != nil {
				err = fmt.Errorf("%w: %w", err, *last)
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return running.Wait, err
		}
	}
	return running.Wait, nil
}

// processes follows the node's stream and opens it again when it breaks, which leaves a hole.
func (o *Observer) processes(ctx context.Context, ready chan<- error) {
	var broken time.Time
	announced := false
	opened := func() {
		if !announced {
			announced = true
			ready <- nil
			return
		}
		o.hole("processes", time.Since(broken))
		broken = time.Time{}
	}
	on := func(kind timeline.Kind, p timeline.Process) { o.Emit(timeline.Event{Kind: kind, Process: &p}) }
	for ctx.Err() == nil {
		err := o.config.Processes(ctx, opened, on)
		if ctx.Err() != nil {
			return
		}
		if announced && broken.IsZero() {
			broken = time.Now()
			o.Emit(timeline.Event{Kind: timeline.WatchHole, Note: fmt.Sprintf("processes: %v", err)})
		}
		o.note(err)
		if !pause(ctx, retryAfter) {
			return
		}
	}
}

// heed notices when this program itself did not run for a while, stopped or starved: what arrived then is stamped late.
func (o *Observer) heed(ctx context.Context) {
	const every, most = 100 * time.Millisecond, 600 * time.Millisecond
	for last := time.Now(); pause(ctx, every); last = time.Now() {
		if stood := time.Since(last); stood > most {
			o.hole("this program stood still", stood)
		}
	}
}

const retryAfter = 200 * time.Millisecond

// pause waits and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

var errGone = errors.New("the watched history is gone")
