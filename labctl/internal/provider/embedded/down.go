package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// Down ends the cluster and removes its state and its sockets. A cluster that is not there is no error.
func (p Provider) Down(ctx context.Context, name string) error {
	where, err := newPaths(name)
	if err != nil {
		return err
	}
	if absent(where.state) && absent(where.sockets) {
		return nil
	}
	release, err := guardLab(where.guard, func() {})
	if err != nil {
		return err
	}
	defer func() {
		release()
		os.Remove(filepath.Dir(where.state)) // stays if another lab lives in it
	}()
	if err := stop(ctx, where); err != nil {
		return err
	}
	for _, dir := range []string{where.state, where.sockets} {
		if absent(dir) {
			continue
		}
		if err := ownedPrivately(dir); err != nil {
			return &provider.Problem{Err: fmt.Errorf("remove lab %s: %w", name, err), Hint: "look at it: ls -ld " + dir}
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove lab %s: %w", name, err)
		}
	}
	return nil
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// stop ends the supervisor, which ends its children and the pods. It knows the supervisor by the lock it holds, so a
// process that got the same pid later is never signalled.
func stop(ctx context.Context, where paths) error {
	lock := filepath.Join(where.state, "lock")
	deadline := time.Now().Add(stopLimit)
	signal := syscall.SIGTERM
	for sent := false; ; {
		running, err := locked(lock)
		if err != nil {
			return fmt.Errorf("look for the cluster: %w", err)
		}
		if !running {
			return nil
		}
		if r, err := readRecord(where); err == nil && !sent {
			if err := syscall.Kill(r.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end academy-cluster (pid %d): %w", r.PID, err)
			}
			sent = true
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return &provider.Problem{Err: fmt.Errorf("academy-cluster did not end within %s", stopLimit), Hint: "look at it: cat " + filepath.Join(where.state, "cluster.json")}
			}
			signal, sent, deadline = syscall.SIGKILL, false, time.Now().Add(5*time.Second)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
