package supervise

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary, started with this variable, plays a child or a supervisor.
const roleVariable = "SUPERVISE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		os.Exit(m.Run())
	case "supervisor":
		playSupervisor()
	default:
		playChild(role)
	}
}

// playChild runs until told to end; its first line of output is its process id.
func playChild(role string) {
	if err := WatchParent(func() { os.Exit(0) }); err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	if role == "dies" {
		os.Exit(7)
	}
	if role == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	fmt.Println(os.Getpid())
	<-time.After(time.Hour) // until a signal; with nothing to wait for the runtime would call it a deadlock
}

// playSupervisor starts one child that logs to its argument and waits to be killed.
func playSupervisor() {
	s, err := New(config(nil))
	if err == nil {
		err = s.Start(child("waits", os.Args[1]))
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(4)
	}
	<-time.After(time.Hour) // until a signal; with nothing to wait for the runtime would call it a deadlock
}

func config(changed func(map[string]int)) Config {
	return Config{
		Executable: os.Args[0], RestartDelay: time.Millisecond, MaxDeaths: 3, DeathWindow: time.Minute,
		StopTimeout: 200 * time.Millisecond, Changed: changed,
	}
}

func child(role, log string) Child {
	return Child{Name: role, Env: []string{roleVariable + "=" + role}, Log: log}
}

// fifo makes a named pipe for a child's log, so that the test reads what the child writes as it comes.
func fifo(t *testing.T) (string, *bufio.Reader) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	// Read and write, so that opening does not wait and no end of file is seen between two children.
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path, bufio.NewReader(f)
}

func readPID(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("child said %q", line)
	}
	return pid
}

func start(t *testing.T, cfg Config, children ...Child) *Supervisor {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range children {
		if err := s.Start(c); err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Name)
	}
	t.Cleanup(func() { s.Stop(names...) })
	return s
}

func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestKilledChildIsStartedAgain(t *testing.T) {
	log, out := fifo(t)
	var reported []int
	start(t, config(func(pids map[string]int) { reported = append(reported, pids["waits"]) }), child("waits", log))
	first := readPID(t, out)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := readPID(t, out)
	if second == first {
		t.Errorf("got the same process %d", first)
	}
	if want := []int{first, second}; !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
}

func TestChildThatDiesTooOftenIsReported(t *testing.T) {
	s := start(t, config(nil), child("dies", filepath.Join(t.TempDir(), "log")))
	var failed *FailedError
	if err := <-s.Failed(); !errors.As(err, &failed) {
		t.Fatalf("got %v, want *FailedError", err)
	}
	var exit *exec.ExitError
	if failed.Child != "dies" || failed.Deaths != 3 || !errors.As(failed, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %+v", failed)
	}
}

func TestOldDeathsAreForgotten(t *testing.T) {
	now := time.Now()
	times := []time.Time{now.Add(-61 * time.Second), now.Add(-60 * time.Second), now.Add(-time.Second), now}
	if got := len(recent(times, time.Minute)); got != 3 {
		t.Errorf("got %d deaths in the window, want 3", got)
	}
}

func TestStopEndsChildren(t *testing.T) {
	for _, role := range []string{"waits", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			log, out := fifo(t)
			s := start(t, config(nil), child(role, log))
			pid := readPID(t, out)
			s.Stop(role)
			if exists(pid) {
				t.Errorf("%d still runs", pid)
			}
		})
	}
}

func TestStopEndsThePauseBeforeARestart(t *testing.T) {
	cfg := config(nil)
	cfg.RestartDelay = time.Hour
	died := make(chan struct{})
	cfg.Logf = func(string, ...any) { close(died) }
	s := start(t, cfg, child("dies", filepath.Join(t.TempDir(), "log")))
	<-died
	s.Stop("dies")
}

func TestStartErrStartedAlready(t *testing.T) {
	log, out := fifo(t)
	s := start(t, config(nil), child("waits", log))
	readPID(t, out)
	if err := s.Start(child("waits", log)); err == nil {
		t.Error("got no error for a second child of that name")
	}
}

func TestNoChildOutlivesAKilledSupervisor(t *testing.T) {
	log, out := fifo(t)
	supervisor := exec.Command(os.Args[0], log)
	supervisor.Env = []string{roleVariable + "=supervisor"}
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPID(t, out)
	if err := supervisor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = supervisor.Wait()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for exists(pid) && !zombie(pid) {
		select {
		case <-deadline:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Fatalf("child %d outlived its supervisor", pid)
		case <-tick.C:
		}
	}
}

// zombie says whether the process has ended and only waits for an init process that may not reap in a container.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestWatchParentErrNoParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleVariable + "=waits"}
	out, err := cmd.Output()
	if err == nil || strings.TrimSpace(string(out)) != ErrNoParent.Error() {
		t.Errorf("got %v and %q, want %q", err, out, ErrNoParent)
	}
}

func TestNewErrUnset(t *testing.T) {
	if _, err := New(Config{Executable: "x"}); err == nil {
		t.Error("got no error for a configuration without durations")
	}
}
