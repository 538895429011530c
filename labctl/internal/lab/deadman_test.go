package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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
			cmd := exec.Command("/bin/sh", "-c", tidier, "sh", "2", "0", note, "/bin/sh", "-c", `echo x >> "$1"; exit 1`, "sh", called)
			alive, err := cmd.StdinPipe() // as labctl holds it
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(called); err == nil {
				t.Error("called while labctl lives")
			}
			if !armed {
				os.Remove(note)
			}
			alive.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			want := "" // it is called as often as it is told, although it fails
			if armed {
				want = "x\nx\n"
			}
			if got, _ := os.ReadFile(called); string(got) != want {
				t.Errorf("called %q, want %q", got, want)
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
	if total := tidyTimes * tidyPause * time.Second; total > fault.LongestSilence {
		t.Errorf("labctl is called for %s, which is not within %s", total, fault.LongestSilence)
	}
}
