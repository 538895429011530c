package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"academy.example/lab/labctl/internal/fault"
)

// The process beside labctl calls what it was told if the file is still there, and nothing if it is not.
func TestTidier(t *testing.T) {
	for name, armed := range map[string]bool{"labctl was killed": true, "labctl undid it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			note, called := filepath.Join(dir, "note"), filepath.Join(dir, "called")
			if err := os.WriteFile(note, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", tidier, "sh", "1", note, "/bin/sh", "-c", `: > "$1"`, "sh", called)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if !armed {
				os.Remove(note)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(called); (err == nil) != armed {
				t.Errorf("called: %t, want %t", err == nil, armed)
			}
			if _, err := os.Stat(note); err == nil {
				t.Error("the file is left")
			}
		})
	}
}

func TestLeavesObjects(t *testing.T) {
	for _, d := range fault.Modes() {
		want := d.Mode == fault.Deny || d.Mode == fault.DeleteLease
		if leavesObjects(d) != want {
			t.Errorf("%s: got %t", d.Mode, !want)
		}
	}
	if tidyAfter >= fault.LongestSilence {
		t.Errorf("what a mode left is removed after %s, which is not within %s", tidyAfter, fault.LongestSilence)
	}
}
