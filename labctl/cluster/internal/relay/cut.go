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
		return fmt.Errorf("unknown mode %q: %s, %s and %s are known", mode, Open, BlackHole, Refuse)
	}
	return r.network.set(mode, lasts)
}

// network is the state of a Relay and the connections it may have to reset.
type network struct {
	mu      sync.Mutex
	mode    Mode
	changed chan struct{} // closed by the next set
	end     *time.Timer   // opens the network again; nil while it is open
	conns   map[net.Conn]bool
	door    func(Mode) error // told of each change
}

func newNetwork() network {
	return network{mode: Open, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
}

func (n *network) set(mode Mode, lasts time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
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
		n.mu.Lock()
		mode, changed := n.mode, n.changed
		n.mu.Unlock()
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
