package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// deadMan lets a stopped process go on after so many seconds, as long as the file names it: a later stop has its own, and it
// ends within a second when the file is gone. It is a process beside labctl, so that it outlives it.
const deadMan = `n=$1
while sleep 1; n=$((n-1)); [ "$(cat "$3" 2>/dev/null)" = "$$" ] || exit 0; [ "$n" -gt 0 ]; do :; done
rm -f "$3"; kill -CONT "$2"`

// serverPID is the API server's process.
func serverPID(cluster provider.Cluster) (int, error) {
	r, err := readRecord(paths{state: cluster.StateDir})
	if err != nil {
		return 0, fmt.Errorf("find the API server of lab %s: %w", cluster.Name, err)
	}
	pid := r.Children["apiserver"].PID
	if pid < 2 {
		return 0, fmt.Errorf("the API server of lab %s: %w", cluster.Name, provider.ErrNotRunning)
	}
	return pid, nil
}

// stopNote is the file that names the present dead man.
func stopNote(cluster provider.Cluster) string {
	return filepath.Join(cluster.StateDir, "apiserver-stopped")
}

// StopServer stops the API server's process. What lets it go on is there before.
func (p Provider) StopServer(_ context.Context, cluster provider.Cluster, lasts time.Duration) error {
	pid, err := serverPID(cluster)
	if err != nil {
		return err
	}
	note := stopNote(cluster)
	cmd := exec.Command("/bin/sh", "-c", deadMan, "sh", strconv.Itoa(int(math.Ceil(lasts.Seconds()))), strconv.Itoa(pid), note)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	keepFiles()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("arm what lets the API server go on: %w", err)
	}
	watch(cmd) // so that it leaves no zombie behind
	if err := os.WriteFile(note, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return fmt.Errorf("arm what lets the API server go on: %w", err)
	}
	return signalServer(pid, syscall.SIGSTOP)
}

// ResumeServer lets it go on.
func (p Provider) ResumeServer(_ context.Context, cluster provider.Cluster) error {
	pid, err := serverPID(cluster)
	if errors.Is(err, provider.ErrNotRunning) {
		return nil
	}
	if err == nil {
		err = signalServer(pid, syscall.SIGCONT)
	}
	if err != nil {
		return err
	}
	if err := os.Remove(stopNote(cluster)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func signalServer(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("send %s to the API server (pid %d): %w", signal, pid, err)
	}
	return nil
}
