package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/provider/home"
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

func TestSocketDirs_AreFoundWithAnotherRuntimeDir(t *testing.T) {
	dir := t.TempDir()
	where := paths{state: dir, sockets: "/tmp/labctl-1-abc"}
	for socket, want := range map[string][]string{
		"/run/user/1/labctl-1-abc/node.sock": {"/tmp/labctl-1-abc", "/run/user/1/labctl-1-abc"},
		"/tmp/labctl-1-abc/node.sock":        {"/tmp/labctl-1-abc"},
		"/home/me/node.sock":                 {"/tmp/labctl-1-abc"}, // no lab's: nothing there may be removed
	} {
		text := `{"schema":"academy-cluster/v1","server":"s","kubeconfig":"k","pid":2,"nodeSocket":"` + socket + `"}`
		if err := os.WriteFile(filepath.Join(dir, "cluster.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := socketDirs(where); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", socket, got, want)
		}
	}
}

func TestDown_AnotherUsersFolderInPlaceOfTheSocketsIsLeftAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	folders(t)
	where, err := newPaths("lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(where.sockets) })
	if err := errors.Join(home.Private(where.state), os.Mkdir(where.sockets, 0o700), os.Chown(where.sockets, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if found, err := (Provider{}).Down(t.Context(), "lab", func(string) {}); err != nil || !found {
		t.Errorf("down: found %t, %v", found, err)
	}
	if !home.Absent(where.state) || home.Absent(where.sockets) {
		t.Errorf("state left: %t, the other's folder left: %t; want only the other's", !home.Absent(where.state), !home.Absent(where.sockets))
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
	if home.Absent("/proc/self/cmdline") {
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
