package supervise

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ParentFD is the descriptor on which every child finds the read end of the supervisor's pipe.
const ParentFD = 3

// ErrNoParent says that the process was not started by a Supervisor.
var ErrNoParent = errors.New("not started by a supervisor: descriptor 3 is no pipe")

// WatchParent calls gone once, from a goroutine of its own, when the supervisor has ended in any way, SIGKILL included.
// It fails with ErrNoParent if the process has no supervisor's pipe.
func WatchParent(gone func()) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(ParentFD, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return ErrNoParent
	}
	// The descriptor is ours alone: processes that this one starts must not inherit it.
	syscall.CloseOnExec(ParentFD)
	pipe := os.NewFile(ParentFD, "supervisor")
	if pipe == nil {
		return fmt.Errorf("open descriptor %d: %w", ParentFD, ErrNoParent)
	}
	go func() {
		// Nothing is ever written; Read returns only when the last write end is closed.
		_, _ = pipe.Read(make([]byte, 1))
		gone()
	}()
	return nil
}
