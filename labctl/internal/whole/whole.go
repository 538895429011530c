// Package whole owns how labctl reads and writes the files that people and other programs can touch: what is read is a file, of a
// size that was foreseen, and what is written is there whole or not at all.
package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The largest sizes that are read, in bytes: of a file of a few lines, and of a record.
const (
	Small  = 1 << 20
	Record = 128 << 20
)

// ErrNoFile is wrapped where a name leads to a folder, a pipe or a device.
var ErrNoFile = errors.New("it is no file")

// ErrTooLarge is wrapped where a file is larger than what is read.
var ErrTooLarge = errors.New("it is too large")

// Open opens a regular file to read, also by a link. It never waits: a pipe that nobody writes is refused like any other thing that
// is no file.
func Open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNoFile}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read returns what is in a regular file of at most so many bytes.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than %d KB", ErrTooLarge, most>>10)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Write puts the data where the name says, in the place of a file that is there. It is written beside it under a name that nobody
// could foresee and then renamed, so that a full disk or a kill leaves the old file, and another user's file or link is not written to.
func Write(name string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return named(err, name)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = named(err, name)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	return err
}

// named has the error speak of the file that was asked for.
func named(err error, name string) error {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &of):
		return &fs.PathError{Op: "write", Path: name, Err: of.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: "write", Path: name, Err: link.Err}
	}
	return err
}
