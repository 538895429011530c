package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// diesWithParent is true where the kernel ends a child whose parent has died.
const diesWithParent = false

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }

// awaitExit cannot see an end without reaping here; it returns false at once.
func awaitExit(int) bool { return false }

// startToken names one life of a process number by its start time.
func startToken(pid int) (string, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", fmt.Errorf("read start time of process %d: %w", pid, err)
	}
	start := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", start.Sec, start.Usec), nil
}
