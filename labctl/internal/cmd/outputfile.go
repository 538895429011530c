package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/whole"
)

// outputFile is the file that a flag's name leads to, so that writing it replaces neither a link nor a device. It is asked for before
// anything is done for its sake: that its folder is there and takes files is found out by making one.
func outputFile(flag, name string) (string, error) {
	refuse := func(what, hint string) error {
		return &provider.Problem{Err: fmt.Errorf("%s %s: %s", flag, name, what), Hint: hint}
	}
	file := name
	if target, err := os.Readlink(name); err == nil { // also of a link whose file is not there yet
		if file = target; !filepath.IsAbs(target) {
			file = filepath.Join(filepath.Dir(name), target)
		}
	}
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return "", refuse("it is there, and is no file", "ls -ld "+shellWord(name))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", refuse(reasonOf(err), "ls -ld "+shellWord(name))
	}
	dir := filepath.Dir(file)
	probe, err := os.CreateTemp(dir, ".labctl.*")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse("there is no folder "+dir, "mkdir -p "+shellWord(dir))
	case err != nil:
		return "", refuse(reasonOf(err), fmt.Sprintf("ls -ld %s   # or name another place: %s \"$HOME\"/%s", shellWord(dir), flag, shellWord(filepath.Base(file))))
	}
	return file, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// reasonOf is why a path can't be used, without the path.
func reasonOf(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// replaceFile writes a file whole, with the mode of the one that it takes the place of.
func replaceFile(file string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	return whole.Write(file, data, mode)
}
