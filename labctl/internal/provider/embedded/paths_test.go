package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

func TestNewPaths_SocketsAreShortWhereverTheStateIs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/"+strings.Repeat("a-long-folder/", 20))
	t.Setenv("XDG_RUNTIME_DIR", "/"+strings.Repeat("r", 100))
	p, err := newPaths("lab")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.sockets) > maxSocketDir {
		t.Errorf("%s has %d bytes, want at most %d: a socket path holds 108", p.sockets, len(p.sockets), maxSocketDir)
	}
	other, err := newPaths("other")
	if err != nil || other.sockets == p.sockets || other.state == p.state {
		t.Errorf("two labs share %s or %s (%v)", p.sockets, p.state, err)
	}
}

func TestNewPaths_ARelativeStateFolderIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "here")
	var problem *provider.Problem
	if _, err := newPaths("lab"); !errors.As(err, &problem) || problem.Hint == "" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

func TestNewPaths_Names(t *testing.T) {
	for _, name := range []string{"", "-a", "a-", "A", "a/b", "..", "a b", strings.Repeat("a", 33)} {
		if _, err := newPaths(name); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	for _, name := range []string{"a", "lab", "lab-2", strings.Repeat("a", 32)} {
		if _, err := newPaths(name); err != nil {
			t.Errorf("the name %q was refused: %v", name, err)
		}
	}
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "x", "y")
	if err := private(made); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v; want a folder of mode 700", info, err)
	}
	if err := private(made); err != nil {
		t.Errorf("a second time: %v", err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(made, link); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{"a folder open to others": open, "a link": link} {
		var problem *provider.Problem
		if err := private(path); !errors.As(err, &problem) || problem.Hint == "" {
			t.Errorf("%s: got %v, want a problem with a hint", what, err)
		}
	}
}

func TestLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	if got, err := locked(file); got || err != nil {
		t.Errorf("no file: got %t, %v", got, err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := locked(file); got || err != nil {
		t.Errorf("not locked: got %t, %v", got, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got, err := locked(file); !got || err != nil {
		t.Errorf("locked: got %t, %v", got, err)
	}
}

func TestGuardLab_OneAtATimeAndNothingLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labctl", "lab.lock")
	release, err := guardLab(t.Context(), file, func() { t.Error("the first had to wait") })
	if err != nil {
		t.Fatal(err)
	}
	waits, done := make(chan bool, 1), make(chan func())
	go func() {
		second, err := guardLab(t.Context(), file, func() { waits <- true })
		if err != nil {
			t.Error(err)
		}
		done <- second
	}()
	<-waits
	release()
	(<-done)()
	if !absent(file) {
		t.Errorf("%s is left", file)
	}
}

func TestLastLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if got := lastLines(file, 2); got != "" {
		t.Errorf("no file: got %q", got)
	}
	if err := os.WriteFile(file, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := lastLines(file, 2), "    b\n    c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadRecord_AnotherSchemaIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cluster.json"), []byte(`{"schema":"academy-cluster/v9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecord(paths{state: dir}); err == nil || !strings.Contains(err.Error(), "v9") {
		t.Errorf("got %v, want an error that names the schema", err)
	}
}

func TestSupervisor_AStrangerIsNeverNamed(t *testing.T) {
	if absent("/proc/self/cmdline") {
		t.Skip("this system does not tell command lines")
	}
	dir := t.TempDir()
	for _, written := range []string{"", "0", "-1", "1", "text", strconv.Itoa(os.Getpid())} {
		if err := os.WriteFile(filepath.Join(dir, "lock"), []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		if pid := supervisor(paths{state: dir}, record{PID: os.Getppid()}); pid != 0 {
			t.Errorf("lock %q: got pid %d, want none: it is not this lab's", written, pid)
		}
	}
}
