package kind

import (
	"os"
	"path/filepath"
	"testing"
)

// fakeDocker puts a shell script in the place of the docker program; nothing else of this machine is on PATH.
func fakeDocker(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	return dir
}
