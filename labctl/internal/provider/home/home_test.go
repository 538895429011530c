package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

func TestNew_ARelativeStateFolderIsRefused(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "here")
	var problem *provider.Problem
	if _, err := New("lab"); !errors.As(err, &problem) || problem.Hint == "" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

func TestNew_Names(t *testing.T) {
	for _, name := range []string{"", "-a", "a-", "A", "a/b", "..", "a b", strings.Repeat("a", 33)} {
		if _, err := New(name); err == nil {
			t.Errorf("the name %q was accepted", name)
		}
	}
	for _, name := range []string{"a", "lab", "lab-2", strings.Repeat("a", 32)} {
		if _, err := New(name); err != nil {
			t.Errorf("the name %q was refused: %v", name, err)
		}
	}
}

func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "x", "y")
	if err := Private(made); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v; want a folder of mode 700", info, err)
	}
	if err := Private(made); err != nil {
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
		if err := Private(path); !errors.As(err, &problem) || problem.Hint == "" {
			t.Errorf("%s: got %v, want a problem with a hint", what, err)
		}
	}
}

func TestPrivate_AnotherUsersFolderIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	dir := filepath.Join(t.TempDir(), "lab")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	var problem *provider.Problem
	if err := Private(dir); !errors.As(err, &problem) || !errors.Is(err, ErrOthers) || problem.Hint == "" {
		t.Errorf("got %v, want a problem with a hint", err)
	}
}

func TestLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	if got, err := Locked(file); got || err != nil {
		t.Errorf("no file: got %t, %v", got, err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Locked(file); got || err != nil {
		t.Errorf("not locked: got %t, %v", got, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got, err := Locked(file); !got || err != nil {
		t.Errorf("locked: got %t, %v", got, err)
	}
}

func TestGuard_OneAtATimeAndNothingLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "labctl", "lab.lock")
	release, err := Guard(t.Context(), file, func() { t.Error("the first had to wait") })
	if err != nil {
		t.Fatal(err)
	}
	waits, done := make(chan bool, 1), make(chan func())
	go func() {
		second, err := Guard(t.Context(), file, func() { waits <- true })
		if err != nil {
			t.Error(err)
		}
		done <- second
	}()
	<-waits
	release()
	(<-done)()
	if !Absent(file) {
		t.Errorf("%s is left", file)
	}
}

func TestClaim_ALabBelongsToOneProvider(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h, err := New("lab")
	if err != nil {
		t.Fatal(err)
	}
	if owner, err := h.Owner(); owner != "" || err != nil {
		t.Errorf("before: got %q, %v", owner, err)
	}
	for range 2 {
		if err := h.Claim("kind"); err != nil {
			t.Fatal(err)
		}
	}
	var problem *provider.Problem
	if err := h.Claim("embedded"); !errors.As(err, &problem) || problem.Hint != "labctl down && labctl up --provider embedded" {
		t.Errorf("another's claim: got %v, want a problem with the way out", err)
	}
	if owner, err := h.Owner(); owner != "kind" || err != nil {
		t.Errorf("got %q, %v; want kind", owner, err)
	}
	if err := h.Remove(); err != nil || !Absent(h.State) {
		t.Errorf("remove: %v, %s is left", err, h.State)
	}
	if err := h.Remove(); err != nil {
		t.Errorf("remove again: %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	h := Home{State: t.TempDir()}
	if err := h.CheckVersion("v1.0.0"); err != nil {
		t.Errorf("no version there: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(h.State, versionFile), []byte("v1.0.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.CheckVersion("v1.0.0"); err != nil {
		t.Errorf("the same: got %v", err)
	}
	var problem *provider.Problem
	if err := h.CheckVersion("v1.1.0"); !errors.As(err, &problem) || problem.Hint != "labctl down && labctl up" || !strings.Contains(err.Error(), "made by labctl v1.0.0") {
		t.Errorf("another: got %v, want a problem with the way out", err)
	}
}
