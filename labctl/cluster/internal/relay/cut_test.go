package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// talk sends and expects it back, within a limit.
func talk(conn net.Conn, limit time.Duration) error {
	_ = conn.SetDeadline(time.Now().Add(limit))
	if _, err := conn.Write([]byte("x")); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

// parrot answers each byte at once.
func parrot(t *testing.T) string {
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
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestBlackHole_SwallowsAndGivesBack(t *testing.T) {
	r := start(t, parrot(t))
	old := dial(t, r)
	if err := talk(old, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := r.Set(BlackHole, LongestCut); err != nil {
		t.Fatal(err)
	}
	fresh := dial(t, r)
	for name, conn := range map[string]net.Conn{"an old": old, "a new": fresh} {
		if err := talk(conn, 200*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s connection: got %v in a black hole, want no answer", name, err)
		}
	}
	if err := r.Set(Open, 0); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]net.Conn{"an old": old, "a new": fresh} {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Errorf("%s connection: got %v, want what was swallowed", name, err)
		}
	}
}

func TestRefuse_ResetsOldAndNew(t *testing.T) {
	r := start(t, parrot(t))
	old := dial(t, r)
	if err := talk(old, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := r.Set(Refuse, LongestCut); err != nil {
		t.Fatal(err)
	}
	if err := talk(old, time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an old connection: got %v, want a reset", err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port())))
	if err == nil { // the reset can be that quick
		defer conn.Close()
		if err = talk(conn, time.Second); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a new connection: got %v, want a reset", err)
		}
	}
}

func TestCut_EndsByItself(t *testing.T) {
	r := start(t, parrot(t))
	conn := dial(t, r)
	if err := r.Set(BlackHole, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := r.Set(BlackHole, 300*time.Millisecond); err != nil { // the first one's end is not this one's
		t.Fatal(err)
	}
	if err := talk(conn, 100*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want no answer", err)
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("got %v after the end", err)
	}
}

func TestSet_WhatCannotBeIsRefused(t *testing.T) {
	r := start(t, parrot(t))
	for _, c := range []struct {
		mode  Mode
		lasts time.Duration
	}{{"fog", time.Second}, {BlackHole, 0}, {Refuse, LongestCut + 1}} {
		if r.Set(c.mode, c.lasts) == nil {
			t.Errorf("%s for %s: got no error", c.mode, c.lasts)
		}
	}
}

func TestClose_EndsABlackHole(t *testing.T) {
	r := start(t, parrot(t))
	conn := dial(t, r)
	if err := r.Set(BlackHole, LongestCut); err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("x"))
	time.Sleep(10 * time.Millisecond)
	r.Close() // must return
}

// While it refuses, the port belongs to the relay and the system refuses: as where nobody listens.
func TestRefuse_IsTheSystemsRefusal(t *testing.T) {
	r := start(t, parrot(t))
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port()))
	for range 3 {
		if err := r.Set(Refuse, LongestCut); err != nil {
			t.Fatal(err)
		}
		if _, err := net.DialTimeout("tcp4", address, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("a new connection: got %v, want a refusal", err)
		}
		if other, err := net.Listen("tcp4", address); err == nil {
			_ = other.Close()
			t.Error("another program could take the port")
		}
		if err := r.Set(Open, 0); err != nil {
			t.Fatal(err)
		}
		if err := talk(dial(t, r), time.Second); err != nil {
			t.Errorf("after it: %v", err)
		}
	}
}

func TestSlow_AnswersComeLateAndQuestionsDoNot(t *testing.T) {
	r := start(t, parrot(t))
	old := dial(t, r)
	if err := talk(old, time.Second); err != nil {
		t.Fatal(err)
	}
	const latency = 300 * time.Millisecond
	if err := r.SetSlow(latency, LongestCut); err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]net.Conn{"an old": old, "a new": dial(t, r)} {
		begun := time.Now()
		if _, err := conn.Write([]byte("xy")); err != nil { // two bytes at once take no longer than one
			t.Fatal(err)
		}
		_ = conn.SetDeadline(begun.Add(5 * time.Second))
		if _, err := io.ReadFull(conn, make([]byte, 2)); err != nil {
			t.Errorf("%s connection: %v", name, err)
		}
		if took := time.Since(begun); took < latency || took > 3*latency {
			t.Errorf("%s connection: the answer took %s, want %s", name, took, latency)
		}
	}
}

func TestSlow_WhatIsUnderWayArrivesWhenItEnds(t *testing.T) {
	r := start(t, parrot(t))
	conn := dial(t, r)
	if err := r.SetSlow(LongestCut, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := talk(conn, 5*time.Second); err != nil {
		t.Errorf("after the end of a latency of a minute: %v", err)
	}
}

func TestSlow_RefusesWhatWouldStay(t *testing.T) {
	r := start(t, parrot(t))
	for name, d := range map[string][2]time.Duration{"no latency": {0, time.Second}, "no end": {time.Second, 0}, "an end too late": {time.Second, LongestCut + 1}} {
		if r.SetSlow(d[0], d[1]) == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if r.Set(Slow, time.Second) == nil {
		t.Error("slow without a latency: got no error")
	}
}
