package sim

import (
	"context"
	"sync"
	"time"
)

// process is what a candidate runs in. It can be frozen: whatever it does next, it does after the thaw.
//
// A frozen process does not run, and its timers fire when it runs again. Timers of the Go runtime can't be held back one by
// one, so each place where the election would go on after one waits for the thaw: its requests, its own timers, its work,
// and client-go's making of a new deadline, which asks a processContext.
type process struct {
	mu      sync.Mutex
	frozen  chan struct{} // closed at the thaw; nil while the process runs
	freezes chan struct{} // takes one value for each freeze
	late    *time.Timer   // the deadline that began at a thaw; see processContext
}

func newProcess() *process { return &process{freezes: make(chan struct{}, 1)} }

// freeze stops the process until the returned function is called.
func (p *process) freeze() (thaw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	frozen := make(chan struct{})
	p.frozen = frozen
	p.freezes <- struct{}{}
	return func() {
		p.mu.Lock()
		p.frozen = nil
		p.mu.Unlock()
		close(frozen)
	}
}

// thawed returns once the process runs.
func (p *process) thawed() {
	for {
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen == nil {
			return
		}
		<-frozen
	}
}

// lateness is how much later than the work a timer runs after a thaw: the order that is hardest on the election.
const lateness = time.Millisecond

// afterFunc is time.AfterFunc of this process.
func (p *process) afterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, func() {
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if frozen != nil {
			<-frozen
			time.Sleep(lateness)
		}
		f()
	}).Stop
}

// renewed tells that a request for the Lease was answered well: the deadline that a thaw began is met.
func (p *process) renewed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late != nil {
		p.late.Stop()
		p.late = nil
	}
}

// processContext is the root of all contexts of a process.
//
// client-go's renew loop wakes up from its pause and makes a deadline: context.WithTimeout reads the clock and then asks its
// parents for theirs. In a frozen process the clock would have been read before the thaw. So the answer comes after the
// thaw, claims an earlier deadline, which keeps WithTimeout from setting a timer, and ends everything a RenewDeadline later.
type processContext struct {
	context.Context
	process       *process
	renewDeadline time.Duration
	cancel        context.CancelFunc
}

func (c processContext) Deadline() (time.Time, bool) {
	p := c.process
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	if frozen == nil {
		return time.Time{}, false
	}
	asked := time.Now()
	<-frozen
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = time.AfterFunc(c.renewDeadline, c.cancel)
	return asked, true
}
