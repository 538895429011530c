package election

import (
	"context"
	"errors"
	"sync"
	"time"

	"academy.example/lab/operator/api"
)

// Why a term ends.
var (
	errDeadline   = errors.New("the last renewal that succeeded was sent a RenewDeadline ago")
	errNotRenewed = errors.New("client-go's RenewDeadline passed without a renewal")
	errDone       = errors.New("the work ended by itself")
)

// term is one leadership, and the context of its work. It ends when the process is asked to stop, when the elector gives
// up, and when its own deadline has passed.
//
// The deadline counts from the moment before a renewal was sent. A standby begins to count when it sees that renewal, which
// can't be earlier, so it works LeaseDuration − RenewDeadline after this process stopped, or later. Counted from the answer,
// as client-go does, the two would come closer by as much as the answer was late.
type term struct {
	context.Context // of the work
	cancel          context.CancelCauseFunc
	resign          func() // ends the elector
	guarded         bool   // by the deadline
	guards          Guarded
	number          int64 // leaseTransitions when this process took over: the fencing token

	mu    sync.Mutex
	until time.Time // nobody may work at or after this

	ended   chan struct{} // closed when all work has returned
	started bool          // whether there was any; read it after ended
	result  error         // of the work; read it after ended
}

type termKey struct{}

// newTerm returns a term that is over: renewed makes it begin.
func newTerm(ctx context.Context, g Guarded, number int64, resign func()) *term {
	t := &term{resign: resign, guarded: g.Guards.Deadline, guards: g, number: number, ended: make(chan struct{})}
	if t.guards.AfterFunc == nil {
		t.guards.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	t.Context, t.cancel = context.WithCancelCause(ctx)
	return t
}

// Err tells whether the term has ended. It looks at the clock: in a process that was frozen, work may run before the timer
// does.
func (t *term) Err() error {
	if t.guarded && !time.Now().Before(t.deadline()) {
		t.end(errDeadline)
	}
	return t.Context.Err()
}

// Value gives the term to May and Token, whatever context was derived from it.
func (t *term) Value(key any) any {
	if key == (termKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// May returns nil if a write may be sent now, else why not. ctx is the context that work was run with, or one derived from
// it; any other is never refused.
func May(ctx context.Context) error {
	if t, ok := ctx.Value(termKey{}).(*term); ok && t.Err() != nil {
		return context.Cause(t)
	}
	return nil
}

// Token returns the fencing token of the leadership that ctx belongs to: leaseTransitions as this process wrote it when it
// took over. ok is false for a context that belongs to none.
func Token(ctx context.Context) (number int64, ok bool) {
	if t, ok := ctx.Value(termKey{}).(*term); ok {
		return t.number, true
	}
	return 0, false
}

func (t *term) deadline() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// renewed prolongs the term after a write that was sent at that time. A term that has ended stays so, however good the news.
func (t *term) renewed(sent time.Time) {
	until := sent.Add(t.guards.Timing.RenewDeadline)
	t.mu.Lock()
	first := t.until.IsZero()
	if first || t.until.After(time.Now()) && until.After(t.until) {
		t.until = until
	}
	t.mu.Unlock()
	if first && t.guarded {
		t.watch()
	}
}

// watch sets the timer. It fires at the deadline that was known when it was set, and is set anew if there is a later one.
func (t *term) watch() {
	stop := t.guards.AfterFunc(time.Until(t.deadline()), func() {
		if t.Err() == nil {
			t.watch()
		}
	})
	context.AfterFunc(t.Context, func() { stop() })
}

// end stops the work and the elector. Only the first reason counts.
func (t *term) end(reason error) {
	t.cancel(reason)
	t.resign()
}

// lead runs the work. led is the context that client-go gives its workers: it ends the term as well.
func (t *term) lead(led context.Context, work []Controller) {
	defer close(t.ended)
	stop := context.AfterFunc(led, func() { t.end(errNotRenewed) })
	defer stop()
	if t.Err() != nil {
		return // the answer came so late that the term is over already
	}
	t.started = true
	t.guards.Log.Info(api.MessageStartedLead)

	var running sync.WaitGroup
	var once sync.Once
	for _, c := range work {
		running.Go(func() {
			if err := c.Run(t); err != nil && t.Context.Err() == nil {
				once.Do(func() { t.result = err })
				t.end(errDone) // what one Lease guards lives and dies together
			}
		})
	}
	running.Wait()
	t.end(errDone)
}

// stopped waits until all work has returned, and reports whether it has within limit.
func (t *term) stopped(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.ended:
		return true
	case <-timer.C:
		return false
	}
}
