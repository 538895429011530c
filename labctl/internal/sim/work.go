package sim

import (
	"context"
	"sync"
	"time"

	"academy.example/lab/operator/api"
)

// object is what leaders work on: it knows its version, and the highest fencing token that was stamped on it.
type object struct {
	mu      sync.Mutex
	version int
	token   int64
}

func (o *object) read() (version int, token int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.version, o.token
}

// write stores a token. fenced asks what the operator's work asks: no higher token, and the version that was read.
func (o *object) write(token int64, version int, fenced bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if fenced && (o.token > token || o.version != version) {
		return false
	}
	o.version++
	o.token = token
	return true
}

// span is a time in which a candidate worked; to is zero while it does.
type span struct{ from, to time.Time }

// until is the end of the span, which is now if it is open.
func (s span) until() time.Time {
	if s.to.IsZero() {
		return time.Now()
	}
	return s.to
}

// record is who worked when.
type record struct {
	mu    sync.Mutex
	spans map[string][]span
}

func (r *record) begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans[name] = append(r.spans[name], span{from: time.Now()})
}

func (r *record) end(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := r.spans[name]
	spans[len(spans)-1].to = time.Now()
}

// overlap is how long two candidates worked at the same time.
func (r *record) overlap() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var total time.Duration
	for a, as := range r.spans {
		for b, bs := range r.spans {
			if a >= b {
				continue
			}
			for _, x := range as {
				for _, y := range bs {
					total += max(0, earlier(x.until(), y.until()).Sub(later(x.from, y.from)))
				}
			}
		}
	}
	return total
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// successor is when somebody else than that candidate first worked after a moment; zero if nobody did.
func (r *record) successor(of string, at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	var began time.Time
	for name, spans := range r.spans {
		for _, s := range spans {
			if name != of && !s.from.Before(at) && (began.IsZero() || s.from.Before(began)) {
				began = s.from
			}
		}
	}
	return began
}

// last is when a candidate last worked.
func (r *record) last(name string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := r.spans[name]
	return spans[len(spans)-1].until()
}

// work is a leader's work: it stamps the object, works without a pause until its context ends, and looks at the context when
// it wakes up. A freeze always meets it between its last look and the write that follows. On a tape its ticks are told.
func (c *candidate) work(ctx context.Context, token int64) {
	w := c.world
	w.record.begin(c.name)
	version, _ := w.object.read()
	w.object.write(token, version, w.Guards.Fence)
	w.began <- c
	var ticks <-chan time.Time
	if w.tape != nil {
		ticker := time.NewTicker(api.WorkTick)
		defer ticker.Stop()
		ticks = ticker.C
	}
	c.tick(token, false)
	for {
		select {
		case <-ticks:
			_, highest := w.object.read()
			c.tick(token, w.Guards.Fence && highest > token)
		case <-ctx.Done():
			w.record.end(c.name)
			return
		case <-c.process.freezes:
			version, _ = w.object.read()
			w.record.end(c.name)
			c.process.thawed()
			c.late(token, version)
			if ctx.Err() != nil {
				return
			}
			w.record.begin(c.name)
		}
	}
}

// tick tells one tick of the work.
func (c *candidate) tick(token int64, refused bool) {
	c.ticks++
	c.log.Info(api.MessageReconcile, api.KeySequence, c.ticks, api.KeyTransition, token)
	c.world.tape.work(c, token, c.ticks, refused)
}

// late is the write that was on its way when the process froze.
func (c *candidate) late(token int64, version int) {
	w := c.world
	succeeded := !w.record.successor(c.name, time.Time{}).IsZero()
	written := w.object.write(token, version, w.Guards.Fence)
	w.tape.work(c, token, c.ticks, !written)
	switch {
	case !succeeded:
	case written:
		w.stale++
	default:
		w.refused++
	}
}
