package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

const namespace, name, first, thief = api.DefaultNamespace, api.DefaultName, "candidate-1", "thief"

// world is one trial.
type world struct {
	Scenario
	random *rand.Rand
	store  *electiontest.Store
	object object
	record record
	began  chan *candidate // each that begins to work
	all    []*candidate
	tape   *tape // nil: nothing is recorded

	stale, refused int // writes of the leader; only its own work counts them
}

// candidate is one process of the operator.
type candidate struct {
	world   *world
	name    string
	number  int // from 1, in the order of the starts
	link    *link
	log     *slog.Logger
	ticks   int64       // of its work
	silent  atomic.Bool // its process is gone: whatever its goroutines still say is not heard
	process *process
	stop    context.CancelFunc
	ended   chan struct{} // closed when its election has returned
}

func newWorld(s Scenario, seed uint64) *world {
	return &world{
		Scenario: s, random: rand.New(rand.NewPCG(seed, 0)), store: new(electiontest.Store),
		record: record{spans: map[string][]span{}},
		began:  make(chan *candidate, 64),
	}
}

// play runs the trial from the first leader to the end of everything, inside a bubble of virtual time. What is recorded of it
// is of a fault with the given words; nil records nothing.
func (w *world) play(record *timeline.Fault) Result {
	if record != nil {
		w.tape = newTape()
	}
	time.Sleep(w.below(time.Second)) // the Lease keeps whole seconds of what the electors compare
	leader := w.start(first, w.leaderTiming())
	<-w.began
	for i := range w.Standbys {
		time.Sleep(w.below(w.Timing.RetryPeriod))
		w.start(fmt.Sprintf("candidate-%d", i+2), w.Timing)
	}
	// Two longest poll pauses, so that each standby knows the Lease; then any moment of the cycle.
	phase := w.below(3 * w.Timing.RetryPeriod)
	time.Sleep(2*22*w.Timing.RetryPeriod/10 + phase)
	at := time.Now()
	if record != nil {
		w.tape.number(1)
		w.tape.add(timeline.Event{Kind: timeline.FaultIssued, Fault: issued(*record, leader, w.all, phase, w.Timing)})
	}
	healed := w.strike(leader)
	w.tape.add(timeline.Event{Kind: timeline.FaultAccepted})
	w.settle(leader, healed)
	result := w.result(leader, at)
	result.Events = w.tape.end()
	for _, c := range w.all {
		c.link.set(network{refuse: true}) // whatever they would still send
		c.stop()
	}
	for _, c := range w.all {
		<-c.ended
	}
	time.Sleep(2 * lateness) // a bubble must end with nothing left in it
	return result
}

func (w *world) below(d time.Duration) time.Duration { return time.Duration(w.random.Int64N(int64(d))) }

// leaderTiming is the timing as the leader's own clock makes it.
func (w *world) leaderTiming() api.Timing {
	t := w.Timing
	if w.Fault.Kind != Drift {
		return t
	}
	scale := func(d time.Duration) time.Duration {
		d = time.Duration(float64(d) / w.Fault.Rate)
		if w.Election == api.ElectionGuarded {
			d = d.Round(time.Second) // it takes no others
		}
		return d
	}
	return api.Timing{LeaseDuration: scale(t.LeaseDuration) + time.Second, RenewDeadline: scale(t.RenewDeadline), RetryPeriod: scale(t.RetryPeriod)}
}

// start runs one candidate.
func (w *world) start(identity string, timing api.Timing) *candidate {
	c := &candidate{world: w, name: identity, number: len(w.all) + 1, process: newProcess(), ended: make(chan struct{})}
	c.link = &link{next: w.store.Client(), process: c.process, identity: identity, latency: w.Latency, timeout: w.ClientTimeout, tape: w.tape}
	c.log = w.tape.logger(c)
	if timing != w.Timing {
		c.link.seconds = int32(w.Timing.LeaseDuration / time.Second)
	}
	ctx, cancel := context.WithCancel(w.narrated(c))
	ctx = processContext{ctx, c.process, timing.RenewDeadline, cancel}
	c.stop = cancel
	w.all = append(w.all, c)
	config := election.Config{Namespace: namespace, Name: name, Identity: identity, Timing: timing, ReleaseOnCancel: w.ReleaseOnCancel}
	w.tape.began(c)
	c.log.Info(api.MessageStarted)
	go func() {
		defer close(c.ended)
		code := api.ExitLost
		defer func() { w.tape.gone(c, code) }()
		if w.Election == api.ElectionPlain {
			election.Plain{Config: config, Client: c.link, Log: c.log, Exit: func(c int) { code = c }, Work: func(ctx context.Context) { c.work(ctx, c.readToken()) }}.Run(ctx)
			return
		}
		guarded := election.Guarded{Config: config, Guards: w.Guards, Client: c.link, Log: c.log, AfterFunc: c.process.afterFunc}
		_ = election.WithLease(ctx, guarded, election.Controller{Name: "work", Run: func(ctx context.Context) error {
			number, _ := election.Token(ctx)
			c.work(ctx, number)
			return nil
		}}) // it has no other answer than that it ended
		if ctx.Err() != nil {
			code = api.ExitStopped
		}
	}()
	return c
}

// narrated is the context in which client-go speaks to the tape, if there is one.
func (w *world) narrated(c *candidate) context.Context {
	if w.tape == nil {
		return klog.NewContext(context.Background(), logr.Discard())
	}
	return election.Narrate(context.Background(), c.log)
}

// readToken is what the plain election's work does: it reads the number in the Lease.
func (c *candidate) readToken() int64 {
	return int64(*c.world.store.Lease(namespace, name).Spec.LeaseTransitions)
}

// strike does the fault to the leader. The channel it returns is closed when nothing of it is left to come.
func (w *world) strike(leader *candidate) (healed <-chan struct{}) {
	done := make(chan struct{})
	f := w.Fault
	after := func(d time.Duration, heal func()) {
		if d <= 0 {
			close(done)
			return
		}
		time.AfterFunc(d, func() {
			w.tape.add(timeline.Event{Kind: timeline.FaultEnded, Note: fmt.Sprintf("the %s is over", f.Kind)})
			heal()
			close(done)
		})
	}
	switch f.Kind {
	case Stop:
		leader.stop()
		after(0, nil)
	case Kill:
		w.tape.gone(leader, exitKilled)
		leader.link.set(network{refuse: true})
		leader.stop()
		after(0, nil)
	case Cut, Drift:
		if f.Late > 0 {
			leader.link.set(network{late: f.Late})
			time.Sleep(w.below(2*w.Timing.RetryPeriod + f.Late))
		}
		leader.link.set(network{late: f.Late, refuse: f.Refuse, requests: f.Way != Responses, responses: f.Way != Requests})
		after(f.For, func() { leader.link.set(network{}) })
	case Freeze:
		after(f.For, leader.process.freeze())
	case Steal:
		w.rewrite(thief)
		after(0, nil)
	case Delete:
		w.store.Remove(namespace, name)
		after(0, nil)
	}
	return done
}

func (w *world) rewrite(holder string) {
	lease := w.store.Lease(namespace, name)
	lease.Spec.HolderIdentity = &holder
	if _, err := w.store.Client().Leases(namespace).Update(context.Background(), lease, metav1.UpdateOptions{}); err != nil {
		panic(err) // nobody else runs at this moment
	}
}

// settle waits until the leader has ended and another works, or until nothing more is to be expected.
func (w *world) settle(leader *candidate, healed <-chan struct{}) {
	limit := time.After(w.Fault.For + 2*w.Timing.LeaseDuration + 5*w.Timing.RetryPeriod + w.Replacement)
	var replace <-chan time.Time
	if w.Replacement > 0 {
		replace = time.After(w.Replacement)
	}
	var began <-chan *candidate = w.began
	ended := (<-chan struct{})(leader.ended)
	for began != nil || ended != nil || healed != nil {
		select {
		case <-replace:
			w.start("replacement", w.Timing)
		case <-began:
			began = nil
		case <-ended:
			ended = nil
		case <-healed:
			healed = nil
		case <-limit:
			return
		}
	}
}

// result reads the record.
func (w *world) result(leader *candidate, at time.Time) Result {
	r := Result{Refused: w.refused, Stale: w.stale, Overlap: w.record.overlap()}
	last := w.record.last(leader.name)
	if successor := w.record.successor(leader.name, at); !successor.IsZero() {
		r.TookOver, r.Gap, r.Margin = true, successor.Sub(at), successor.Sub(last)
	}
	holder := ""
	var renewed, taken time.Time
	free := at
	for _, write := range w.store.Writes() {
		switch {
		case write.At.Before(at) || !taken.IsZero():
		case write.Holder == "" && !write.Removed:
			free, r.Released = write.At, true
		case write.Holder != "" && write.Holder != leader.name && write.Holder != thief:
			taken = write.At
			r.LockGap = taken.Sub(free)
		}
		r.Wiped = r.Wiped || write.Holder == "" && !write.Removed && holder != first && holder != "" && holder != thief
		if write.Holder == leader.name {
			renewed = write.At
		}
		holder, r.Transitions = write.Holder, write.Transitions
	}
	r.Worked = last.Sub(renewed)
	return r
}
