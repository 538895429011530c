package embedded

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

// finding returns the one of that name.
func finding(t *testing.T, p Provider, name string) provider.Finding {
	t.Helper()
	for _, f := range p.Examine(t.Context(), "lab", "") {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("nothing is said of %s", name)
	return provider.Finding{}
}

func TestExamine_ProgramsThatCannotDoIt(t *testing.T) {
	folders(t)
	for script, part := range map[string]string{
		"exit 1":                        "exit status 1",
		"echo another program 1.0":      `it calls itself "another program 1.0"`,
		"echo academy-cluster >&2":      `it calls itself ""`,
		"echo academy-cluster; exit 77": "exit status 77",
	} {
		var problem *provider.Problem
		if f := finding(t, programs(t, script), "programs"); !errors.As(f.Err, &problem) || problem.Hint != "make build" || !strings.Contains(f.Err.Error(), part) {
			t.Errorf("%s: got %v, want %q and a hint", script, f.Err, part)
		}
	}
	if f := finding(t, programs(t, "echo academy-cluster dev"), "programs"); f.Err != nil || !strings.Contains(f.Good, "academy-cluster dev") {
		t.Errorf("the right program: got %+v", f)
	}
}

func TestExamine_AFolderOpenToOthersIsFoundBeforeALabIsMade(t *testing.T) {
	folders(t)
	where, err := newPaths("lab")
	if err != nil {
		t.Fatal(err)
	}
	p := programs(t, "echo academy-cluster dev")
	if f := finding(t, p, "folder"); f.Err != nil {
		t.Errorf("nothing there: got %v", f.Err)
	}
	if err := os.MkdirAll(where.state, 0o755); err != nil {
		t.Fatal(err)
	}
	var problem *provider.Problem
	if f := finding(t, p, "folder"); !errors.As(f.Err, &problem) || problem.Hint != "chmod 700 "+where.state {
		t.Errorf("got %v, want a problem with the way out", f.Err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	if f := finding(t, p, "folder"); !errors.As(f.Err, &problem) || !strings.Contains(problem.Hint, "XDG_STATE_HOME") {
		t.Errorf("a file where a folder should be: got %v, want a problem with the way out", f.Err)
	}
}

func TestPortFree(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0") // of every address: as many a server on a student's machine
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	var problem *provider.Problem
	if err := portFree(port); !errors.As(err, &problem) || !strings.Contains(problem.Hint, "ss -ltnp") {
		t.Errorf("taken: got %v, want a problem that tells how to find who has it", err)
	}
	l.Close()
	if err := portFree(port); err != nil {
		t.Errorf("free again: got %v", err)
	}
}

func TestEnough(t *testing.T) {
	var problem *provider.Problem
	if f := enough("disk", 100<<20, 200<<20, "free under /x", "df -h /x"); !errors.As(f.Err, &problem) || f.Err.Error() != "100 MiB free under /x, and a lab needs 200" {
		t.Errorf("too little: got %+v", f)
	}
	if f := enough("disk", 200<<20, 200<<20, "free", ""); f.Err != nil {
		t.Errorf("just enough: got %+v", f)
	}
}

func TestMemAvailable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meminfo")
	for content, want := range map[string]uint64{"MemTotal:  9 kB\nMemAvailable:   2048 kB\n": 2 << 20, "MemTotal: 9 kB\n": 0, "MemAvailable: much kB\n": 0} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := memAvailable(file); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %d, %v; want %d", content, got, err, want)
		}
	}
}
