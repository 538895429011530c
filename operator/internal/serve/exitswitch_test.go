package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"academy.example/lab/operator/api"
)

func TestSwitchPath(t *testing.T) {
	env := map[string]string{api.EnvPodUID: "u1", "TMPDIR": "/run/p"}
	getenv := func(key string) string { return env[key] }
	if got, err := SwitchPath(getenv); err != nil || got != "/run/p/academy-operator-u1.sock" {
		t.Errorf("got %s, %v", got, err)
	}
	delete(env, api.EnvPodUID)
	if _, err := SwitchPath(getenv); !errors.Is(err, errNoPodUID) {
		t.Errorf("got %v without a pod UID, want %v", err, errNoPodUID)
	}
}

// shortDir returns a folder whose sockets fit into the 108 bytes of a socket path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestThrowExit(t *testing.T) {
	path := filepath.Join(shortDir(t), "exit.sock")
	if err := ThrowExit(t.Context(), path); err == nil {
		t.Error("got no error where nobody listens")
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil { // what a killed container leaves
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	thrown := make(chan struct{}, 1)
	if err := ListenForExit(ctx, path, func() { thrown <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode().Perm(), err)
	}
	say(t, path, "exit-without-pardon.\n")
	if len(thrown) != 0 {
		t.Error("another word threw the switch")
	}
	if err := ThrowExit(t.Context(), path); err != nil {
		t.Error(err)
	}
	<-thrown
}

// say writes a word to the socket and waits until the other end closes.
func say(t *testing.T, path, word string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, word); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // ends with EOF or a reset
}
