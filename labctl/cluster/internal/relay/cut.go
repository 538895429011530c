package relay

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Mode is how the network between a pod and the API server fares.
type Mode string

// The modes.
const (
	Open      Mode = "open"
	BlackHole Mode = "blackhole" // nothing arrives, in either direction; connections stay as they are
	Refuse    Mode = "refuse"    // connections are reset, and new ones refused
	Slow      Mode = "slow"      // what the API server says arrives late; what it is told does not
)

// LongestCut bounds a cut, so that one whose maker has died does not stay.
const LongestCut = time.Minute

// Set changes the network. BlackHole and Refuse end by themselves after lasts, at most LongestCut. What a black hole has
// swallowed arrives when it ends, as TCP sends it again.
func (r *Relay) Set(mode Mode, lasts time.Duration) error {
	switch mode {
	case Open:
	case BlackHole, Refuse:
		if lasts <= 0 || lasts > LongestCut {
			return fmt.Errorf("a cut lasts more than 0 and at most %s, not %s", LongestCut, lasts)
		}
	default:
		return fmt.Errorf("unknown mode %q: %s, %s and %s are known, and %s with a latency", mode, Open, BlackHole, Refuse, Slow)
	}
	return r.network.set(mode, 0, lasts)
}

// SetSlow makes each answer of the API server arrive latency after it was given, and so each connection take that much longer
// to be made. It ends by itself as a cut does, and what is on its way then arrives at once.
func (r *Relay) SetSlow(latency, lasts time.Duration) error {
	for _, d := range []time.Duration{latency, lasts} {
		if d <= 0 || d > LongestCut {
			return fmt.Errorf("latency %s and duration %s must be more than 0 and at most %s", latency, lasts, LongestCut)
		}
	}
	return r.network.set(Slow, latency, lasts)
}

// Mode is how the network fares now.
func (r *Relay) Mode() Mode {
	mode, _, _ := r.network.now()
	return mode
}

// network is the state of a Relay and the connections it may have to reset.
type network struct {
	mu      sync.Mutex
	mode    Mode
	latency time.Duration // of Slow
	changed chan struct{} // closed by the next set
	end     *time.Timer   // opens the network again; nil while it is open
	conns   map[net.Conn]bool
	door    func(Mode) error // told of each change
}

func newNetwork() network {
	return network{mode: Open, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
}

func (n *network) set(mode Mode, latency, lasts time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latency = latency
	if n.end != nil {
		n.end.Stop()
		n.end = nil
	}
	err := n.change(mode)
	if mode == Open {
		return err
	}
	var end *time.Timer
	end = time.AfterFunc(lasts, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.end == end { // no later cut has taken its place
			n.end = nil
			_ = n.change(Open) // the pod finds out
		}
	})
	n.end = end
	return err
}

// change is called with the lock held.
func (n *network) change(mode Mode) error {
	n.mode = mode
	close(n.changed)
	n.changed = make(chan struct{})
	err := n.door(mode)
	if mode == Refuse {
		for conn := range n.conns {
			reset(conn)
		}
	}
	return err
}

// open takes a new connection in, unless connections are refused.
func (n *network) open(ctx context.Context, conn net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mode == Refuse || ctx.Err() != nil {
		return false
	}
	n.conns[conn] = true
	return true
}

func (n *network) closed(conn net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, conn)
}

// wait returns when packets pass, or at the end of ctx.
func (n *network) wait(ctx context.Context) {
	for {
		mode, _, changed := n.now()
		if mode != BlackHole {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// late returns when an answer that was given at that time arrives, or at the end of ctx.
func (n *network) late(ctx context.Context, given time.Time) {
	for {
		n.wait(ctx)
		mode, latency, changed := n.now()
		left := latency - time.Since(given)
		if mode != Slow || left <= 0 || ctx.Err() != nil {
			return
		}
		arrives := time.NewTimer(left)
		select {
		case <-arrives.C:
		case <-changed:
		case <-ctx.Done():
		}
		arrives.Stop()
	}
}

func (n *network) now() (Mode, time.Duration, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mode, n.latency, n.changed
}
