package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead_WhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, link, dir, "/dev/zero"} {
		if _, err := Read(name, Small); !errors.Is(err, ErrNoFile) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), Small); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRead_Bound(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := Read(name, 5); err != nil || string(data) != "12345" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := Read(name, 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// What somebody else has put in the way, at the name or beside it, is not written to.
func TestWrite_NobodyElsesFile(t *testing.T) {
	dir := t.TempDir()
	name, elsewhere := filepath.Join(dir, "f"), filepath.Join(dir, "elsewhere")
	if err := os.Symlink(elsewhere, name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".new", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Write(name, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
	if data, err := os.ReadFile(name + ".new"); err != nil || len(data) > 0 {
		t.Errorf("got %q, %v", data, err)
	}
}

// A write that fails leaves the old file and nothing beside it.
func TestWrite_Fails(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(name, "a folder that is not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := Write(name, []byte("x"), 0o600)
	var of *fs.PathError
	if !errors.As(err, &of) || of.Path != name {
		t.Errorf("got %v, want an error that names %s", err, name)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside it are %v, %v", left, err)
	}
}
