package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// Down ends the cluster and removes its state and its sockets. A cluster that is not there is no error.
func (p Provider) Down(ctx context.Context, lab string, say func(string)) (found bool, err error) {
	where, err := newPaths(lab)
	if err != nil {
		return false, err
	}
	if owner, err := where.home.Owner(); err != nil || owner != "" && owner != name {
		return false, err
	}
	if home.Absent(where.state) && home.Absent(where.sockets) {
		return false, nil
	}
	release, err := home.Guard(ctx, where.home.Lock, func() { say("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return true, err
	}
	defer func() {
		release()
		where.home.Leave()
	}()
	sockets := socketDirs(where)
	if err := stop(ctx, where); err != nil {
		return true, err
	}
	for _, dir := range append(sockets, where.state) {
		if home.Absent(dir) {
			continue
		}
		err := home.Keepable(dir)
		if errors.Is(err, home.ErrOthers) && dir != where.state {
			continue // it has the name of this lab's, and is none of it
		}
		if err != nil {
			return true, fmt.Errorf("remove lab %s: %w", lab, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return true, fmt.Errorf("remove lab %s: %w", lab, err)
		}
	}
	return true, nil
}

// socketDirs are the folders of a lab's sockets: where they are now looked for and, if the lab was made with another
// XDG_RUNTIME_DIR, where they are.
func socketDirs(where paths) []string {
	dirs := []string{where.sockets}
	r, err := readRecord(where)
	if dir := filepath.Dir(r.NodeSocket); err == nil && dir != where.sockets && filepath.Base(dir) == filepath.Base(where.sockets) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// stop ends the supervisor, which ends its children and the pods, and waits for all of them. The supervisor holds a lock
// for all of its life and has written its pid into it, so a process that got the same pid later is never signalled.
func stop(ctx context.Context, where paths) error {
	lock := filepath.Join(where.state, "lock")
	last, _ := readRecord(where) // its children, for the end; none if it is not readable
	deadline := time.Now().Add(stopLimit)
	signal := syscall.SIGTERM
	for sent := false; ; {
		running, err := home.Locked(lock)
		if err != nil {
			return fmt.Errorf("look for the cluster: %w", err)
		}
		if !running {
			return childrenGone(ctx, last)
		}
		if pid := supervisor(where, last); pid > 1 && !sent {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("end academy-cluster (pid %d): %w", pid, err)
			}
			sent = true
			syscall.Kill(pid, syscall.SIGCONT) // one that is stopped would not hear SIGTERM
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return &provider.Problem{Err: fmt.Errorf("academy-cluster (pid %d) did not end within %s", supervisor(where, last), stopLimit), Hint: "cat " + filepath.Join(where.state, "cluster.log")}
			}
			signal, sent, deadline = syscall.SIGKILL, false, time.Now().Add(5*time.Second)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// supervisor returns the pid of the process that holds the lock: as it wrote it there, or else as cluster.json has it.
// Where the system tells a process's command line, it must be that of this lab's supervisor; 0 if none is.
func supervisor(where paths, last record) int {
	written := 0
	if data, err := os.ReadFile(filepath.Join(where.state, "lock")); err == nil {
		written, _ = strconv.Atoi(strings.TrimSpace(string(data))) // what is no number is nobody
	}
	for _, pid := range []int{written, last.PID} {
		if pid > 1 && runsIn(pid, where.state) {
			return pid
		}
	}
	return 0
}

// runsIn reports whether a process's command line has `run` and this state folder; true where that can't be found out.
func runsIn(pid int, state string) bool {
	if home.Absent("/proc/self/cmdline") {
		return true
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(string(line), "\x00")
	return err == nil && len(words) > 1 && words[1] == "run" && slices.Contains(words, state)
}

// childrenGone waits until the children have ended: after a SIGKILL of the supervisor they need a moment to notice. It
// signals none of them, since their numbers may be others' by now, and does not wait for ever, for the same reason.
func childrenGone(ctx context.Context, last record) error {
	const limit = 3 * time.Second
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		left := 0
		for _, child := range last.Children {
			if child.PID > 1 && !errors.Is(syscall.Kill(child.PID, 0), syscall.ESRCH) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}
