package relay

import (
	"io"
	"net"
	"strconv"
	"testing"
)

// echo answers each connection with what it has read once the client has said all.
func echo(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				data, _ := io.ReadAll(conn)
				_, _ = conn.Write(data)
			}()
		}
	}()
	return listener
}

func dial(t *testing.T, r *Relay) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func start(t *testing.T, upstream string) *Relay {
	t.Helper()
	r, err := Listen(upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func TestRelayPassesBothWays(t *testing.T) {
	r := start(t, echo(t).Addr().String())
	for range 3 {
		conn := dial(t, r)
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil { // must reach the upstream, or it never answers
			t.Fatal(err)
		}
		if data, err := io.ReadAll(conn); err != nil || string(data) != "hello" {
			t.Errorf("answer %q, error %v", data, err)
		}
	}
}

func TestRelayTellsOfARefusal(t *testing.T) {
	listener := echo(t)
	r := start(t, listener.Addr().String())
	_ = listener.Close() // from here on the upstream refuses
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port())))
	if err != nil {
		return // the reset can be that quick
	}
	defer conn.Close()
	if data, err := io.ReadAll(conn); err == nil {
		t.Errorf("an end with %q instead of a reset", data)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	r := start(t, echo(t).Addr().String())
	conn := dial(t, r)
	if _, err := conn.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if data, _ := io.ReadAll(conn); len(data) > 0 { // an end is as good as a reset
		t.Errorf("data %q after close", data)
	}
	if _, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port()))); err == nil {
		t.Error("the relay still listens")
	}
}
