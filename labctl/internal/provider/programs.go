package provider

import (
	"fmt"
	"os"
	"path/filepath"
)

// ProgramDir is the folder of the running program, where the kit's other programs are too; dir if that is not empty.
func ProgramDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the folder of labctl: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(filepath.Dir(self)); err != nil {
		return "", fmt.Errorf("find the folder of labctl: %w", err)
	}
	return dir, nil
}
