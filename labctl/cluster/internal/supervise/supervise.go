// Package supervise keeps a few child processes running and makes sure that none outlives its parent.
//
// Children are the parent's own executable with other arguments. Each holds the read end of one pipe whose
// write end only the supervisor has, so that they see its end even when it is killed.
package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Child is one process to keep running.
type Child struct {
	Name string
	Args []string // without the program name
	Env  []string // the whole environment: nothing is inherited
	Log  string   // file that stdout and stderr are appended to, created with mode 0600
}

// Config says how children are started, restarted and stopped. Every duration must be positive.
type Config struct {
	Executable   string
	RestartDelay time.Duration // between a death and the next start
	MaxDeaths    int           // this many deaths of one child within DeathWindow are reported as failure
	DeathWindow  time.Duration
	StopTimeout  time.Duration // between SIGTERM and SIGKILL

	// Changed is called with the running children's process ids after each start; calls never overlap.
	Changed func(pids map[string]int)
	// Logf receives one line for each start after the first, and for each death.
	Logf func(format string, args ...any)
}

// Supervisor runs children until Stop.
type Supervisor struct {
	cfg         Config
	read, write *os.File // the pipe; write stays open for as long as this process lives
	failed      chan error

	mu       sync.Mutex
	running  map[string]*process
	pids     map[string]int
	stopping map[string]bool
	quit     map[string]chan struct{} // closed by Stop to end the pause before a restart
}

type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed after the process has been reaped
}

// FailedError reports a child that died too often.
type FailedError struct {
	Child  string
	Deaths int
	Last   error
}

// Error names the child and how it ended last.
func (e *FailedError) Error() string {
	return fmt.Sprintf("%s died %d times, last: %v", e.Child, e.Deaths, e.Last)
}

// Unwrap returns how the child ended last.
func (e *FailedError) Unwrap() error { return e.Last }

// New returns a Supervisor without children.
func New(cfg Config) (*Supervisor, error) {
	if cfg.Executable == "" || cfg.RestartDelay <= 0 || cfg.MaxDeaths <= 0 || cfg.DeathWindow <= 0 || cfg.StopTimeout <= 0 {
		return nil, errors.New("supervise: executable, durations and number of deaths must be set")
	}
	if cfg.Changed == nil {
		cfg.Changed = func(map[string]int) {}
	}
	if cfg.Logf == nil {
		cfg.Logf = func(string, ...any) {}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the children's pipe: %w", err)
	}
	return &Supervisor{
		cfg: cfg, read: r, write: w, failed: make(chan error, 1),
		running: map[string]*process{}, pids: map[string]int{}, stopping: map[string]bool{}, quit: map[string]chan struct{}{},
	}, nil
}

// Failed yields a *FailedError when a child has died MaxDeaths times within DeathWindow; it is not restarted again.
func (s *Supervisor) Failed() <-chan error { return s.failed }

// Start starts a child and keeps it running. An error means that it could not be started even once.
func (s *Supervisor) Start(c Child) error {
	quit := make(chan struct{})
	s.mu.Lock()
	if _, known := s.quit[c.Name]; known {
		s.mu.Unlock()
		return fmt.Errorf("start %s: started already", c.Name)
	}
	s.quit[c.Name] = quit
	s.mu.Unlock()
	p, err := s.spawn(c)
	if err != nil {
		return fmt.Errorf("start %s: %w", c.Name, err)
	}
	go s.keep(c, p, quit)
	return nil
}

// spawn starts the process, or returns nil without error when the child is being stopped.
func (s *Supervisor) spawn(c Child) (*process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.cfg.Executable, c.Args...)
	cmd.Env = c.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{s.read} // becomes ParentFD
	// A group of its own: Ctrl-C in the terminal reaches the supervisor alone, which then stops its children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping[c.Name] {
		return nil, nil
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	s.running[c.Name] = p
	s.pids[c.Name] = cmd.Process.Pid
	pids := make(map[string]int, len(s.pids))
	for name, pid := range s.pids {
		pids[name] = pid
	}
	s.cfg.Changed(pids)
	return p, nil
}

// keep waits for the child's death and starts it again, until it is stopped or has died too often.
func (s *Supervisor) keep(c Child, p *process, quit <-chan struct{}) {
	var deaths []time.Time
	for p != nil {
		err := p.cmd.Wait()
		close(p.done)
		if s.isStopping(c.Name) {
			return
		}
		if err == nil {
			err = errors.New("exit status 0")
		}
		s.cfg.Logf("%s (pid %d) died: %v; its log is %s", c.Name, p.cmd.Process.Pid, err, c.Log)
		if deaths = recent(append(deaths, time.Now()), s.cfg.DeathWindow); len(deaths) >= s.cfg.MaxDeaths {
			s.fail(&FailedError{Child: c.Name, Deaths: len(deaths), Last: err})
			return
		}
		select {
		case <-time.After(s.cfg.RestartDelay):
		case <-quit:
			return
		}
		if p, err = s.spawn(c); err != nil {
			s.fail(fmt.Errorf("restart %s: %w", c.Name, err))
			return
		}
		if p != nil {
			s.cfg.Logf("%s started again (pid %d)", c.Name, p.cmd.Process.Pid)
		}
	}
}

// recent drops the times that lie further back than window, seen from the last one.
func recent(times []time.Time, window time.Duration) []time.Time {
	last := times[len(times)-1]
	for len(times) > 0 && last.Sub(times[0]) > window {
		times = times[1:]
	}
	return times
}

func (s *Supervisor) fail(err error) {
	select {
	case s.failed <- err:
	default: // one failure ends the cluster; a second has nothing to add
	}
}

func (s *Supervisor) isStopping(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping[name]
}

// Stop ends the named children one after the other: SIGTERM, and SIGKILL when StopTimeout has passed.
// It returns when all of them have been reaped. Names of children that were never started are passed over.
func (s *Supervisor) Stop(names ...string) {
	s.mu.Lock()
	for _, name := range names {
		if quit, known := s.quit[name]; known && !s.stopping[name] {
			close(quit)
		}
		s.stopping[name] = true
	}
	s.mu.Unlock()
	for _, name := range names {
		s.stop(name)
	}
}

func (s *Supervisor) stop(name string) {
	s.mu.Lock()
	p := s.running[name]
	s.mu.Unlock()
	if p == nil {
		return
	}
	// An error means that the process has ended by itself, which done tells as well.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return
	case <-time.After(s.cfg.StopTimeout):
	}
	s.cfg.Logf("%s (pid %d) did not end within %v of SIGTERM: killed", name, p.cmd.Process.Pid, s.cfg.StopTimeout)
	_ = p.cmd.Process.Kill()
	<-p.done
}
