package relay

import (
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// door is the relay's port. While it is shut the port stays the relay's, and the system refuses each connection to it, as
// it does where nobody listens: a connection that is taken and then reset would be another error to the pod.
type door struct {
	port int

	mu       sync.Mutex
	listener net.Listener // nil while it is shut
	socket   int          // bound to the port while it is shut
	closed   bool
}

func openDoor() (*door, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &door{port: listener.Addr().(*net.TCPAddr).Port, listener: listener, socket: -1}, nil
}

// shut stops listening. Between the end of the listener and the hold on its port lie microseconds in which the system could
// give the port to another; then the door stays shut and opening it fails.
func (d *door) shut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener == nil || d.closed {
		return nil
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("hold port %d: %w", d.port, err)
	}
	unix.CloseOnExec(socket)
	err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	_ = d.listener.Close() // accept returns either way
	d.listener = nil
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Port: d.port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil { // the address was to be had in spite of old connections; from now on nobody else is to have it
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 0)
	}
	if err != nil {
		_ = unix.Close(socket)
		return fmt.Errorf("hold port %d: %w", d.port, err)
	}
	d.socket = socket
	return nil
}

// backlog is how many connections may wait to be accepted.
const backlog = 128

// reopen listens again and returns the new listener; nil if the door is open, or closed for good.
func (d *door) reopen() (net.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil || d.closed {
		return nil, nil
	}
	if d.socket < 0 {
		var err error
		d.listener, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", d.port))
		return d.listener, err
	}
	err := unix.SetsockoptInt(d.socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Listen(d.socket, backlog)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on port %d again: %w", d.port, err)
	}
	file := os.NewFile(uintptr(d.socket), "relay")
	d.listener, err = net.FileListener(file) // which has a socket of its own
	_ = file.Close()
	d.socket = -1
	return d.listener, err
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.listener != nil {
		_ = d.listener.Close() // accept returns either way
	}
	if d.socket >= 0 {
		_ = unix.Close(d.socket)
		d.socket = -1
	}
}
