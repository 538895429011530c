package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Locked reports whether another process holds the lock on file, as a cluster's supervisor does for all of its life.
func Locked(file string) (bool, error) {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return true, nil
	}
	return false, err
}

// Guard takes the lock that keeps two labctl from changing one lab at the same time, waiting for the other to end.
// The file may be removed by its holder, so a lock counts only while the path still names the locked file.
func Guard(ctx context.Context, file string, waiting func()) (release func(), err error) {
	for {
		// The folder goes with the last lab, so it is made anew each time.
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, unmade(filepath.Dir(file), err)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", file, err)
		}
		if err := lockSoon(ctx, f, waiting); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if sameFile(f, file) {
			return func() { os.Remove(file); f.Close() }, nil
		}
		f.Close()
	}
}

// lockSoon takes the lock when it is free, or gives up with ctx; a blocking call could not be interrupted.
func lockSoon(ctx context.Context, f *os.File, waiting func()) error {
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK {
			return err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func sameFile(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}
