package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"academy.example/lab/operator/api"
)

// The exit switch stands for a crash where nobody may send a signal: a socket inside the pod that only the operator's own
// user can open. Whoever writes the word to it ends the process at that instruction: no callback, no release.

const (
	exitWord    = api.ExitCommand + "\n"
	exitTimeout = 5 * time.Second
)

var errNoPodUID = errors.New(api.EnvPodUID + " is not set")

// SwitchPath returns where the switch of this pod is: in TMPDIR, named after POD_UID so that pods on one host do not meet.
func SwitchPath(getenv func(string) string) (string, error) {
	uid := getenv(api.EnvPodUID)
	if uid == "" {
		return "", errNoPodUID
	}
	folder := getenv("TMPDIR")
	if folder == "" {
		folder = os.TempDir()
	}
	return filepath.Join(folder, api.Program+"-"+uid+".sock"), nil
}

// ListenForExit opens the switch at path, mode 0600, and calls exit as soon as somebody throws it. It stops with ctx.
func ListenForExit(ctx context.Context, path string, exit func()) error {
	// A container that was killed leaves its socket behind, and the next one in the same pod has the same path.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove old exit switch: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("open exit switch: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("close exit switch to others: %w", err), listener.Close())
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // ctx has ended
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(exitTimeout))
				word := make([]byte, len(exitWord))
				if _, err := io.ReadFull(conn, word); err == nil && string(word) == exitWord {
					exit()
				}
			}()
		}
	}()
	return nil
}

// ThrowExit throws the switch at path and returns nil once the process behind it has gone.
func ThrowExit(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("reach exit switch: %w", err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, exitWord); err != nil {
		return fmt.Errorf("throw exit switch: %w", err)
	}
	// The other end closes when its process ends, and only then.
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("process behind %s still runs after %s", path, exitTimeout)
	}
	return nil
}
