package streams

import (
	"bufio"
	"net"
	"net/http"
)

// watchedWriter calls gone when the client of a session that has taken over its connection is gone: net/http ends a
// request's context for that only as long as the connection is its own.
type watchedWriter struct {
	http.ResponseWriter
	gone func()
}

var _ http.Hijacker = (*watchedWriter)(nil)

// Hijack hands the connection over, with an eye on it.
func (w *watchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// What the server has read ahead is still in its buffer, which goes on reading from the connection itself.
	watched := &watchedConn{Conn: conn, buffer: buffered.Reader, gone: w.gone}
	return watched, bufio.NewReadWriter(bufio.NewReader(watched), buffered.Writer), nil
}

type watchedConn struct {
	net.Conn
	buffer *bufio.Reader
	gone   func()
}

// Read calls gone with the first error, the end of input included.
func (c *watchedConn) Read(data []byte) (int, error) {
	n, err := c.buffer.Read(data)
	if err != nil {
		c.gone()
	}
	return n, err
}

// Close is also what the protocol does when the client has said goodbye.
func (c *watchedConn) Close() error {
	c.gone()
	return c.Conn.Close()
}
