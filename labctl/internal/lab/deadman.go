package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"academy.example/lab/labctl/internal/fault"
)

// tidier is a process beside labctl, which outlives it. Its input ends with labctl, however that ends; then it calls labctl several times,
// with a pause between, as long as the file is there.
const tidier = `times=$1 pause=$2 note=$3; shift 3
read -r _
while [ -e "$note" ] && [ "$times" -gt 0 ]; do
	"$@" >/dev/null 2>&1
	times=$((times-1)) left=$pause
	while [ -e "$note" ] && [ "$left" -gt 0 ]; do sleep 1; left=$((left-1)); done
done
rm -f "$note"`

// How often the tidier calls labctl, and with what pause in seconds: a minute, in which an API server that is away comes back.
const (
	tidyTimes = 6
	tidyPause = 10
)

// leavesObjects is whether a mode leaves something on the API server that does not end by itself.
func leavesObjects(d fault.Description) bool { return d.Mode == fault.Deny || d.Kind == fault.OfObject }

// arm makes sure that what the mode leaves on the API server is removed, whatever becomes of labctl. disarm ends it; call it when the
// mode was undone.
func (l *lane) arm(ctx context.Context, d fault.Description) (disarm func(), err error) {
	if !leavesObjects(d) || ctx.Err() != nil {
		return func() {}, nil
	}
	return l.lab.outlive(fmt.Sprintf("%s-%d", d.Mode, l.number))
}

// outlive makes sure that what this labctl leaves is removed when it is killed: every command of labctl removes what it finds, so that
// one is called. disarm ends it; call it when nothing is left. what tells the things of one labctl apart.
func (l *Lab) outlive(what string) (disarm func(), err error) {
	failed := func(err error) (func(), error) {
		return nil, fmt.Errorf("arm what removes %s if labctl is killed: %w", what, err)
	}
	self, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	note := filepath.Join(l.Cluster.StateDir, fmt.Sprintf("undo-%s-%d", what, os.Getpid()))
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		return failed(err)
	}
	cmd := exec.Command("/bin/sh", "-c", tidier, "sh", strconv.Itoa(tidyTimes), strconv.Itoa(tidyPause), note, self, "status", "--name", l.Cluster.Name)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	alive, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.Remove(note)
		return failed(err)
	}
	go func() { _ = cmd.Wait() }() // so that it leaves no zombie behind
	return func() {
		os.Remove(note)
		_ = alive.Close()
	}, nil
}
