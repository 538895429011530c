// Package process runs the programs of pods as local processes: it starts them in groups of their own, tells how they
// ended, keeps their output and finds what an earlier life left behind. It knows nothing of Kubernetes.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// drainTime bounds the wait for output that a stray grandchild keeps open after the process has ended.
const drainTime = time.Second

// ErrEnded is returned by Signal when there is no process left to signal.
var ErrEnded = errors.New("process has ended")

// Spec says what to run; Env is the whole environment, nothing is added from the caller's own.
type Spec struct {
	Path   string   // absolute
	Args   []string // without the program's name
	Env    []string
	Dir    string
	Stdin  io.Reader // nil is the null device
	Stdout io.Writer
	Stderr io.Writer
	// Terminal, if not nil, is all three in their place, and the controlling terminal of a session of the program's own.
	Terminal *os.File
}

// Exit tells how a process ended: Code is 128+n if signal n ended it.
type Exit struct {
	Code   int
	Signal syscall.Signal // 0 if it exited by itself
	At     time.Time
}

// Process is one started program and the process group it leads.
type Process struct {
	cmd     *exec.Cmd
	started time.Time
	done    chan struct{}

	mu    sync.Mutex
	ended bool
	exit  Exit
}

// Start runs spec in a new process group that ends, where the platform can do that, with the calling process.
// The error says why the program could not be run.
func Start(spec Spec) (*Process, error) {
	if !filepath.IsAbs(spec.Path) {
		// It would be looked up by this program's own PATH.
		return nil, fmt.Errorf("start %s: %w", spec.Path, exec.ErrNotFound)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = spec.Stdout, spec.Stderr
	cmd.SysProcAttr = groupAttr()
	cmd.WaitDelay = drainTime
	if spec.Terminal != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = spec.Terminal, spec.Terminal, spec.Terminal
		// A session begins with a group of its own.
		cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = false, true, true
	}
	var stdin io.WriteCloser
	if spec.Stdin != nil {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("start %s: %w", spec.Path, err)
		}
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.live(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	if stdin != nil {
		go func() {
			// Errors mean that one side is gone; the other side is told by the close.
			_, _ = io.Copy(stdin, spec.Stdin)
			_ = stdin.Close()
		}()
	}
	return p, nil
}

// live starts the process and stays with it: the kernel ties the parent-death signal to the thread that forked.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	p.started = time.Now()
	started <- err
	if err != nil {
		return
	}
	var at time.Time
	if awaitExit(p.cmd.Process.Pid) {
		at = time.Now()
		// The leader is not reaped yet, so its number still names this group and no other.
		p.endGroup()
	}
	_ = p.cmd.Wait() // how it ended is in ProcessState
	if at.IsZero() {
		// It is reaped, so its number may be another's: what it left in its group is left alone.
		at = time.Now()
		p.mu.Lock()
		p.ended = true
		p.mu.Unlock()
	}
	p.exit = exitOf(p.cmd.ProcessState, at)
	close(p.done)
}

// endGroup kills what the leader left in its group, once, and lets no signal through any more.
func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		_ = signalGroup(p.cmd.Process.Pid, syscall.SIGKILL) // an empty group is the usual case
	}
}

func exitOf(state *os.ProcessState, at time.Time) Exit {
	exit := Exit{Code: state.ExitCode(), At: at}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal()
		exit.Code = 128 + int(exit.Signal)
	}
	return exit
}

// PID is the process number, valid for signalling only through Signal.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Started is when the program was running.
func (p *Process) Started() time.Time { return p.started }

// Done is closed once the process is reaped and its output is written.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how the process ended; it waits for Done.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the whole group, or returns ErrEnded.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return ErrEnded
	}
	if err := signalGroup(p.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("signal process %d: %w", p.cmd.Process.Pid, err)
	}
	return nil
}

// Run starts spec and waits for its end; when ctx ends first, the group is killed.
func Run(ctx context.Context, spec Spec) (Exit, error) {
	p, err := Start(spec)
	if err != nil {
		return Exit{}, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGKILL) // ErrEnded is as good
	}
	return p.Exit(), nil
}
