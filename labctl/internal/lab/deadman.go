package lab

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/fault"
)

// tidier calls labctl after so many seconds, as long as the file is there. It is a process beside labctl, so that it outlives it.
const tidier = `n=$1
while sleep 1; n=$((n-1)); [ -e "$2" ] || exit 0; [ "$n" -gt 0 ]; do :; done
rm -f "$2"; shift 2; exec "$@"`

// tidyAfter is when that is: what a mode left is then gone a minute after labctl was killed. One that is still at work then
// keeps it from being removed.
const tidyAfter = fault.LongestSilence - 10*time.Second

// leavesObjects is whether a mode leaves something on the API server that does not end by itself.
func leavesObjects(d fault.Description) bool { return d.Mode == fault.Deny || d.Kind == fault.OfObject }

// arm makes sure that what the mode leaves on the API server is removed, whatever becomes of labctl: every command of labctl
// removes what it finds, so that one is called. disarm ends it; call it when the mode was undone.
func (l *lane) arm(ctx context.Context, d fault.Description) (disarm func(), err error) {
	if !leavesObjects(d) || ctx.Err() != nil {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("arm what undoes %s: %w", d.Mode, err)
	}
	cluster := l.lab.Cluster
	note := filepath.Join(cluster.StateDir, fmt.Sprintf("undo-%d-%d", l.number, os.Getpid()))
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		return nil, fmt.Errorf("arm what undoes %s: %w", d.Mode, err)
	}
	disarm = func() { os.Remove(note) } // it is looked for once a second
	cmd := exec.Command("/bin/sh", "-c", tidier, "sh", strconv.Itoa(int(math.Ceil(tidyAfter.Seconds()))), note, self, "status", "--name", cluster.Name)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		disarm()
		return nil, fmt.Errorf("arm what undoes %s: %w", d.Mode, err)
	}
	go func() { _ = cmd.Wait() }() // so that it leaves no zombie behind
	return disarm, nil
}
