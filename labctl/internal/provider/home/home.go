// Package home owns where a lab's files live on this machine: its private folder, which provider it belongs to, and the
// lock that keeps two labctl from changing one lab at the same time.
package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"academy.example/lab/labctl/internal/provider"
)

// Home is the place of one lab.
type Home struct {
	// State is the lab's folder: private, removed when the lab is.
	State string
	// Lock is the file that Guard locks, beside the folder.
	Lock string
}

// New returns the place of the lab of that name; nothing is made yet.
func New(name string) (Home, error) {
	if err := provider.CheckName(name); err != nil {
		return Home{}, err
	}
	base, variable := os.Getenv("XDG_STATE_HOME"), "XDG_STATE_HOME"
	if base == "" {
		variable = "HOME"
		dir, err := os.UserHomeDir()
		if err != nil {
			return Home{}, &provider.Problem{Err: fmt.Errorf("find the state folder: %w", err), Hint: elsewhere}
		}
		base = filepath.Join(dir, ".local", "state")
	}
	if !filepath.IsAbs(base) {
		return Home{}, &provider.Problem{Err: fmt.Errorf("%s gives the folder %q, which is not an absolute path", variable, base), Hint: elsewhere}
	}
	state := filepath.Join(base, "labctl", name)
	return Home{State: state, Lock: state + ".lock"}, nil
}

// claimFile holds the name of the provider that a lab's folder belongs to, versionFile the version of the labctl that made it.
const (
	claimFile   = "provider"
	versionFile = "version"
)

// Claim makes the lab's folder and writes down whose it is. Call it under Guard. A lab of another provider is a problem.
func (h Home) Claim(owner string) error {
	switch has, err := h.Owner(); {
	case err != nil:
		return err
	case has != "" && has != owner:
		return &provider.Problem{Err: fmt.Errorf("the lab %s is there already, on %s", filepath.Base(h.State), has), Hint: "labctl down && labctl up --provider " + owner}
	}
	if err := Private(h.State); err != nil {
		return err
	}
	for name, content := range map[string]string{claimFile: owner, versionFile: provider.Version()} {
		if err := os.WriteFile(filepath.Join(h.State, name), []byte(content+"\n"), 0o600); err != nil {
			return &provider.Problem{Err: fmt.Errorf("write down whose lab it is: %w", err), Hint: "df -h " + h.State}
		}
	}
	return nil
}

// CheckVersion refuses a lab that a labctl of another version has made: what it keeps there may mean something else.
func (h Home) CheckVersion(mine string) error {
	data, err := os.ReadFile(filepath.Join(h.State, versionFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it is just being made, or does not say
	}
	if err != nil {
		return fmt.Errorf("find out which labctl made the lab: %w", err)
	}
	if made := strings.TrimSpace(string(data)); !provider.SameVersion(made, mine) {
		return &provider.Problem{Err: fmt.Errorf("the lab %s was made by labctl %s, and this is labctl %s", filepath.Base(h.State), made, mine), Hint: "labctl down && labctl up"}
	}
	return nil
}

// Owner returns the name of the provider that made the lab's folder; "" if there is no folder, or nobody claimed it.
func (h Home) Owner() (string, error) {
	data, err := os.ReadFile(filepath.Join(h.State, claimFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find out whose lab it is: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Remove removes the lab's folder. Nothing there is no error.
func (h Home) Remove() error {
	if Absent(h.State) {
		return nil
	}
	if err := Keepable(h.State); err != nil {
		return err
	}
	return os.RemoveAll(h.State)
}

// Leave removes the folder of all labs if no lab lives in it any more. Call it after Guard's release.
func (h Home) Leave() { os.Remove(filepath.Dir(h.State)) }

// Private makes a folder that only this user can enter, or checks that an existing one is such.
func Private(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return unmade(filepath.Dir(dir), err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return unmade(dir, err)
	}
	return Keepable(dir)
}

// elsewhere is the way out where a folder can't be used for labs.
const elsewhere = "export XDG_STATE_HOME=$(mktemp -d)"

func unmade(dir string, err error) error {
	return &provider.Problem{Err: fmt.Errorf("make %s: %w", dir, err), Hint: elsewhere}
}

// Keepable says what to do about a folder that is not private.
func Keepable(dir string) error {
	err := OwnedPrivately(dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errOpen):
		return &provider.Problem{Err: err, Hint: "chmod 700 " + dir}
	default:
		return &provider.Problem{Err: err, Hint: elsewhere}
	}
}

// ErrOthers is a folder that another user has made. errOpen is one that is this user's, but open to others.
var (
	ErrOthers = errors.New("belongs to another user")
	errOpen   = errors.New("it is open to other users")
)

// OwnedPrivately fails unless dir is a real folder of this user that nobody else can write to.
func OwnedPrivately(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case ok && int(owner.Uid) != os.Getuid():
		return fmt.Errorf("%s %w (uid %d)", dir, ErrOthers, owner.Uid)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s has mode %o: %w", dir, info.Mode().Perm(), errOpen)
	}
	return nil
}

// Absent reports whether nothing has that path.
func Absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}
