// Package relay carries one pod's connections to the API server, so that they can be seen and disturbed apart from
// everybody else's.
package relay

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// Relay listens on a free port of 127.0.0.1 and passes bytes to and from one upstream address.
type Relay struct {
	listener net.Listener
	upstream string
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// Listen starts a relay to upstream (host:port); Close ends it.
func Listen(upstream string) (*Relay, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start relay to %s: %w", upstream, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Relay{listener: listener, upstream: upstream, ctx: ctx, cancel: cancel}
	r.wg.Go(r.accept)
	return r, nil
}

// Port is the port on 127.0.0.1 that the pod uses as its API server.
func (r *Relay) Port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// Close ends the listener and every connection, and waits for them.
func (r *Relay) Close() {
	r.cancel()
	_ = r.listener.Close() // accept returns either way
	r.wg.Wait()
}

func (r *Relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.carry(conn) })
	}
}

// carry joins one connection to a new upstream one; an upstream that refuses is told to the pod by a reset.
func (r *Relay) carry(down net.Conn) {
	defer down.Close()
	var dialer net.Dialer
	up, err := dialer.DialContext(r.ctx, "tcp", r.upstream)
	if err != nil {
		if tcp, ok := down.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // at worst the pod sees an end instead of a reset
		}
		return
	}
	defer up.Close()
	stop := context.AfterFunc(r.ctx, func() {
		_ = down.Close() // ends both copies
		_ = up.Close()
	})
	defer stop()
	var halves sync.WaitGroup
	halves.Go(func() { pass(up, down) })
	halves.Go(func() { pass(down, up) })
	halves.Wait()
}

// pass copies until the source ends, then ends the other side's input; a failed copy ends both.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok && err == nil {
		_ = half.CloseWrite() // the reader on that side may be gone already
		return
	}
	_ = to.Close() // both are ended on purpose
	_ = from.Close()
}
