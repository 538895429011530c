// Package relay carries one pod's connections to the API server, so that they can be seen and disturbed apart from
// everybody else's.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Relay listens on a free port of 127.0.0.1 and passes bytes to and from one upstream address.
type Relay struct {
	door     *door
	upstream string
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	network  network
}

// Listen starts a relay to upstream (host:port); Close ends it.
func Listen(upstream string) (*Relay, error) {
	door, err := openDoor()
	if err != nil {
		return nil, fmt.Errorf("start relay to %s: %w", upstream, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Relay{door: door, upstream: upstream, ctx: ctx, cancel: cancel, network: newNetwork()}
	r.network.door = r.swing
	listener := door.listener
	r.wg.Go(func() { r.accept(listener) })
	return r, nil
}

// Port is the port on 127.0.0.1 that the pod uses as its API server.
func (r *Relay) Port() int { return r.door.port }

// Close ends the listener and every connection, and waits for them.
func (r *Relay) Close() {
	r.cancel()
	r.door.close()
	r.wg.Wait()
}

// swing shuts the door while connections are refused.
func (r *Relay) swing(mode Mode) error {
	if mode == Refuse {
		return r.door.shut()
	}
	listener, err := r.door.reopen()
	if listener != nil {
		r.wg.Go(func() { r.accept(listener) })
	}
	return err
}

func (r *Relay) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.carry(conn) })
	}
}

// carry joins one connection to a new upstream one; an upstream that refuses is told to the pod by a reset, and so is a cut
// that refuses.
func (r *Relay) carry(down net.Conn) {
	defer down.Close()
	if !r.network.open(r.ctx, down) {
		reset(down)
		return
	}
	defer r.network.closed(down)
	r.network.wait(r.ctx)
	var dialer net.Dialer
	up, err := dialer.DialContext(r.ctx, "tcp", r.upstream)
	if err != nil {
		reset(down)
		return
	}
	defer up.Close()
	stop := context.AfterFunc(r.ctx, func() {
		_ = down.Close() // ends both copies
		_ = up.Close()
	})
	defer stop()
	var halves sync.WaitGroup
	halves.Go(func() { r.pass(up, down) })
	halves.Go(func() { r.answer(down, up) })
	halves.Wait()
}

// reset ends a connection the way a refusal does; at worst the pod sees an end instead.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close() // it is ended on purpose
}

// pass copies until the source ends, then ends the other side's input; a failed copy ends both.
func (r *Relay) pass(to, from net.Conn) {
	_, err := io.Copy(held{to, r}, from)
	r.end(to, from, err)
}

func (r *Relay) end(to, from net.Conn, err error) {
	r.network.wait(r.ctx) // the end of a connection is a packet too
	if half, ok := to.(*net.TCPConn); ok && err == nil {
		_ = half.CloseWrite() // the reader on that side may be gone already
		return
	}
	_ = to.Close() // both are ended on purpose
	_ = from.Close()
}

// held is a writer that keeps what it is given while packets are dropped.
type held struct {
	to net.Conn
	r  *Relay
}

func (h held) Write(data []byte) (int, error) {
	h.r.network.wait(h.r.ctx)
	return h.to.Write(data)
}

// answer is pass for what the API server says: each part arrives as late as the network is slow, however many are under way.
func (r *Relay) answer(to, from net.Conn) {
	parts := make(chan part, partsUnderWay)
	var failed error // of reading; read after parts is closed
	go func() {
		defer close(parts)
		for {
			data := make([]byte, partBytes)
			n, err := from.Read(data)
			if n > 0 {
				select {
				case parts <- part{data[:n], time.Now()}:
				case <-r.ctx.Done():
				}
			}
			if err != nil {
				failed = err
				return
			}
		}
	}()
	for p := range parts {
		r.network.late(r.ctx, p.given)
		if _, err := to.Write(p.data); err != nil {
			_ = to.Close() // both are ended on purpose
			_ = from.Close()
			for range parts { // until the reader has noticed
			}
			return
		}
	}
	if errors.Is(failed, io.EOF) {
		failed = nil
	}
	r.end(to, from, failed)
}

// part is something that the API server said.
type part struct {
	data  []byte
	given time.Time
}

// What may be under way to the pod: more makes the API server wait, as a full window does.
const (
	partBytes     = 16 << 10
	partsUnderWay = 64
)
