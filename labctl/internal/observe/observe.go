// Package observe owns the watching: it turns what the API server, the node and the replicas' logs say into timeline
// events, stamped on arrival by one monotonic clock. It has no opinion on what they mean.
package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/timeline"
)

// Processes follows the starts and ends of replica processes where the node reports them; see provider.ProcessWatcher.
type Processes func(ctx context.Context, ready func(), on func(timeline.Kind, timeline.Process)) error

// Requests follows the finished requests on the Lease where the API server logs them; see provider.Auditor.
type Requests func(ctx context.Context, ready func(), on func(timeline.Request)) error

// Config says what is watched.
type Config struct {
	Client kubernetes.Interface
	// Start is when the run's clock reads 0; the moment of New if it is zero.
	Start time.Time
	// Lane marks the events; see timeline.Event.
	Lane int
	// Namespace holds the pods, the Deployment and the work objects.
	Namespace string
	// LeaseNamespace and Lease name the Lease.
	LeaseNamespace, Lease string
	// Pods and Work are label selectors; an empty one watches nothing.
	Pods, Work string
	// Logs is whether the replicas' logs are read.
	Logs bool
	// Deployment is the name of the one whose changes are recorded; "" for none.
	Deployment string
	// Processes and Requests may be nil: the provider has no such stream.
	Processes Processes
	Requests  Requests
	// Probes are asked for signs of life beside the API server.
	Probes []Probe
	// Hide takes out of a text what is not to be recorded; nil leaves all texts as they are.
	Hide func(string) string
}

// Observer watches and hands each event to its listeners, in one order for all of them.
type Observer struct {
	config Config
	start  time.Time

	mu        sync.Mutex
	trial     int
	listeners []func(timeline.Event)

	asked timeline.Deploy // what the Deployment asked for last; used by its stream alone

	failed  chan error
	trouble atomic.Pointer[error] // the last request that failed
}

// New returns an Observer.
func New(config Config) *Observer {
	if config.Start.IsZero() {
		config.Start = time.Now()
	}
	return &Observer{config: config, start: config.Start, failed: make(chan error, 1)}
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

// Now returns the run's clock: seconds since its start.
func (o *Observer) Now() float64 { return time.Since(o.start).Seconds() }

// Emit stamps an event and hands it on. The stamp is taken when Emit is called.
func (o *Observer) Emit(e timeline.Event) { o.emitAt(time.Now(), e) }

func (o *Observer) emitAt(now time.Time, e timeline.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.config.Hide != nil {
		e = e.Hide(o.config.Hide)
	}
	e.Seconds, e.Wall, e.Trial, e.Lane = now.Sub(o.start).Seconds(), now.UTC(), o.trial, o.config.Lane
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
	streams := o.streams(ctx, &running)
	ready := make(chan error, len(streams)+2)
	for _, s := range streams {
		running.Go(func() { o.follow(ctx, s, ready) })
	}
	expect := len(streams)
	for _, t := range o.tellers() {
		expect++
		running.Go(func() { o.listen(ctx, t, ready) })
	}
	running.Go(func() { o.heed(ctx) })
	for _, p := range append([]Probe{o.apiProbe()}, o.config.Probes...) {
		running.Go(func() { o.pulse(ctx, p) })
	}
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

// streams are the kinds of objects to watch.
func (o *Observer) streams(ctx context.Context, running *sync.WaitGroup) []stream {
	streams := []stream{o.leases()}
	if o.config.Pods != "" {
		streams = append(streams, o.pods(ctx, running))
	}
	if o.config.Work != "" {
		streams = append(streams, o.work())
	}
	if o.config.Deployment != "" {
		streams = append(streams, o.deployment())
	}
	return streams
}

// teller is a stream that something else than the API server keeps.
type teller struct {
	what  string
	whose string // stream it is
	run   func(ctx context.Context, ready func()) error
}

func (o *Observer) tellers() []teller {
	var tellers []teller
	if o.config.Processes != nil {
		on := func(kind timeline.Kind, p timeline.Process) { o.Emit(timeline.Event{Kind: kind, Process: &p}) }
		tellers = append(tellers, teller{"processes", "the node's", func(ctx context.Context, ready func()) error { return o.config.Processes(ctx, ready, on) }})
	}
	if o.config.Requests != nil {
		on := func(r timeline.Request) { o.Emit(timeline.Event{Kind: timeline.LeaseRequest, Request: &r}) }
		tellers = append(tellers, teller{"requests", "the audit log's", func(ctx context.Context, ready func()) error { return o.config.Requests(ctx, ready, on) }})
	}
	return tellers
}

// listen follows a teller and opens it again when it breaks, which leaves a hole.
func (o *Observer) listen(ctx context.Context, t teller, ready chan<- error) {
	var broken time.Time
	announced := false
	opened := func() {
		if !announced {
			announced = true
			ready <- nil
			return
		}
		o.hole(t.what, time.Since(broken))
		broken = time.Time{}
	}
	for ctx.Err() == nil {
		err := t.run(ctx, opened)
		if ctx.Err() != nil {
			return
		}
		if announced && broken.IsZero() {
			broken = time.Now()
			o.Emit(timeline.Event{Kind: timeline.WatchHole, Note: fmt.Sprintf("%s: %s", t.what, ended(t, err))})
		}
		o.note(err)
		if !pause(ctx, retryAfter) {
			return
		}
	}
}

// ended says in words why a teller's stream is not there.
func ended(t teller, err error) string {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return t.whose + " stream ended; it is opened again"
	}
	return fmt.Sprintf("%s stream ended (%v); it is opened again", t.whose, err)
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
