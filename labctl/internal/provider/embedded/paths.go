package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// maxSocketDir leaves room for the longest socket name below it: a socket path holds 108 bytes, 104 on macOS.
const maxSocketDir = 60

// paths are the folders and files of one lab.
type paths struct {
	state   string // private, removed by Down
	sockets string // private and short, removed by Down
	guard   string // locked while labctl changes the lab
}

// newPaths returns the paths of a lab; nothing is made yet.
func newPaths(name string) (paths, error) {
	if err := provider.CheckName(name); err != nil {
		return paths{}, err
	}
	base, variable := os.Getenv("XDG_STATE_HOME"), "XDG_STATE_HOME"
	if base == "" {
		variable = "HOME"
		home, err := os.UserHomeDir()
		if err != nil {
			return paths{}, &provider.Problem{Err: fmt.Errorf("find the state folder: %w", err), Hint: "export XDG_STATE_HOME=/tmp/labctl-state"}
		}
		base = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(base) {
		return paths{}, &provider.Problem{Err: fmt.Errorf("%s gives the folder %q, which is not an absolute path", variable, base), Hint: "export XDG_STATE_HOME=/tmp/labctl-state"}
	}
	state := filepath.Join(base, "labctl", name)
	return paths{state: state, sockets: socketDir(state), guard: state + ".lock"}, nil
}

// socketDir is a short folder that belongs to this state folder alone.
func socketDir(state string) string {
	sum := sha256.Sum256([]byte(state))
	short := fmt.Sprintf("labctl-%d-%s", os.Getuid(), hex.EncodeToString(sum[:4]))
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && len(dir)+1+len(short) <= maxSocketDir && ownedPrivately(dir) == nil {
		return filepath.Join(dir, short)
	}
	return filepath.Join("/tmp", short)
}

// private makes a folder that only this user can enter, or checks that an existing one is such.
func private(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make %s: %w", filepath.Dir(dir), err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return keepable(dir)
}

// keepable says what to do about a folder that is not private.
func keepable(dir string) error {
	err := ownedPrivately(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOpen):
		return &provider.Problem{Err: err, Hint: "chmod 700 " + dir}
	default:
		return &provider.Problem{Err: err, Hint: "mv " + dir + " " + dir + ".old"}
	}
}

// errOpen is a folder that is this user's, but open to others.
var errOpen = errors.New("it is open to other users")

// ownedPrivately fails unless dir is a real folder of this user that nobody else can write to.
func ownedPrivately(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case ok && int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user (uid %d)", dir, owner.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %o: %w", dir, info.Mode().Perm(), errOpen)
	}
	return nil
}

// locked reports whether another process holds the lock on file: the cluster's supervisor for all of its life.
func locked(file string) (bool, error) {
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

// guardLab takes the lock that keeps two labctl from changing one lab at the same time, waiting for the other to end.
// The file may be removed by its holder, so a lock counts only while the path still names the locked file.
func guardLab(ctx context.Context, file string, waiting func()) (release func(), err error) {
	for {
		// The folder goes with the last lab, so it is made anew each time.
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, &provider.Problem{Err: fmt.Errorf("make %s: %w", filepath.Dir(file), err), Hint: "ls -ld " + filepath.Dir(file)}
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
