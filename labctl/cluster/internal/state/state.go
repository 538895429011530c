// Package state is the folder that a cluster keeps between starts: its lock, its layout and the files that others read.
package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Schema names the layout of the folder and of cluster.json.
const Schema = "academy-cluster/v1"

// A socket path holds 108 bytes on Linux and 104 on macOS, the terminating zero included. Below the socket folder
// lie the cluster's own sockets and folders of pods with names of up to this length.
const (
	maxSocketPath = 103
	socketRoom    = len("/p/01234567/operator.sock")
)

// maxLog is the size from which a log is set aside at the next start.
const maxLog = 10 << 20

// A killed process gives up its sockets a moment after it has vanished otherwise. Another port would make every
// kubeconfig that was copied useless.
const portPatience = 500 * time.Millisecond

// Problem is an error with advice for the person who started the program.
type Problem struct {
	Err  error
	Hint string
}

// Error returns what went wrong, without the advice.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Folder is a locked state folder.
type Folder struct {
	dir     string
	sockets string
	lock    *os.File
}

// Open checks both folders, creates the state folder if need be, and locks it until the process ends or Close.
// kubernetes is the version that the data will be written with. Errors are *Problem.
func Open(dir, sockets, kubernetes string) (*Folder, error) {
	if err := checkSockets(sockets); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(dir) {
		return nil, &Problem{fmt.Errorf("open state folder: %q is not absolute", dir), "give --state an absolute path"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &Problem{fmt.Errorf("make state folder: %w", err), "give --state a folder that you may write to"}
	}
	if err := checkPrivate(dir, "--state"); err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, sockets: sockets}
	if err := f.acquire(); err != nil {
		return nil, err
	}
	err := f.checkFormat(kubernetes)
	if err == nil {
		err = f.makeFolders()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Held reports whether the folder still holds the lock file that this process has locked.
func (f *Folder) Held() bool {
	held, err := f.lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Path("lock"))
	return err == nil && os.SameFile(held, named)
}

// Close gives up the lock.
func (f *Folder) Close() { _ = f.lock.Close() }

func checkSockets(dir string) error {
	if !filepath.IsAbs(dir) {
		return &Problem{fmt.Errorf("open socket folder: %q is not absolute", dir), "give --sockets an absolute path"}
	}
	if len(dir)+socketRoom > maxSocketPath {
		return &Problem{fmt.Errorf("open socket folder: %s is %d bytes long and may have %d", dir, len(dir), maxSocketPath-socketRoom),
			"give --sockets a shorter path, such as a new folder from mktemp -d"}
	}
	return checkPrivate(dir, "--sockets")
}

func checkPrivate(dir, flag string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Problem{fmt.Errorf("open %s folder: %w", flag, err), "mkdir -m 700 " + dir}
	}
	if err != nil {
		return &Problem{fmt.Errorf("open %s folder: %w", flag, err), "give " + flag + " a folder of your own"}
	}
	if !info.IsDir() {
		return &Problem{fmt.Errorf("open %s folder: %s is no folder", flag, dir), "give " + flag + " a folder, not a link or a file"}
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return &Problem{fmt.Errorf("open %s folder: %s belongs to user %d", flag, dir, st.Uid), "give " + flag + " a folder of your own"}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return &Problem{fmt.Errorf("open %s folder: %s has mode %04o: others may enter it", flag, dir, mode), "chmod 700 " + dir}
	}
	return nil
}

func (f *Folder) acquire() error {
	lock, err := os.OpenFile(f.Path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return &Problem{fmt.Errorf("lock state folder: %w", err), "look at the folder's owner and free space"}
	}
	err = flock(lock)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = lock.Close()
		who := "another academy-cluster"
		if c, err := ReadCluster(f.dir); err == nil {
			who = fmt.Sprintf("cluster %q (pid %d)", c.Name, c.PID)
		}
		return &Problem{fmt.Errorf("lock state folder: %s runs in %s", who, f.dir), "use that cluster, end it with SIGTERM, or give another --state"}
	}
	if err != nil {
		_ = lock.Close()
		return &Problem{fmt.Errorf("lock state folder: %w", err), "give --state a folder on a local file system"}
	}
	f.lock = lock
	// Whoever must end this process finds its number here even if cluster.json is lost.
	if err = lock.Truncate(0); err == nil {
		_, err = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return err
}

// flock takes the lock. Those who only look take it for a moment, too, so one refusal is not believed.
func flock(lock *os.File) error {
	const tries, pause = 10, 10 * time.Millisecond
	for n := 1; ; n++ {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || n == tries {
			return err
		}
		time.Sleep(pause)
	}
}

// checkFormat refuses data that this program did not write, or wrote with another minor version of Kubernetes.
func (f *Folder) checkFormat(kubernetes string) error {
	want := Schema + " " + minor(kubernetes)
	found, err := os.ReadFile(f.Path("format"))
	if err == nil {
		if got := strings.TrimSpace(string(found)); got != want {
			return &Problem{fmt.Errorf("open state folder: %s holds %q, this program writes %q", f.dir, got, want), "start afresh: rm -r " + f.dir}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return &Problem{fmt.Errorf("open state folder: %w", err), "start afresh: rm -r " + f.dir}
	}
	for _, name := range []string{"etcd", "pki"} {
		if _, err := os.Lstat(f.Path(name)); err == nil {
			return &Problem{fmt.Errorf("open state folder: %s has %s but no format file: it is damaged or not a cluster's", f.dir, name), "give another --state, or start afresh: rm -r " + f.dir}
		}
	}
	if err := writeFile(f.Path("format"), []byte(want+"\n")); err != nil {
		return &Problem{fmt.Errorf("open state folder: %w", err), "look at the folder's free space"}
	}
	return nil
}

// minor shortens v1.37.2 to v1.37.
func minor(version string) string {
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 {
		return parts[0] + "." + parts[1]
	}
	return version
}

func (f *Folder) makeFolders() error {
	for _, name := range []string{"log", "pods"} {
		if err := os.MkdirAll(f.Path(name), 0o700); err != nil {
			return &Problem{fmt.Errorf("make %s: %w", f.Path(name), err), "look at the folder's owner and free space"}
		}
	}
	return nil
}

// Path returns the path of a file in the folder.
func (f *Folder) Path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

// Socket returns the path of a file in the socket folder.
func (f *Folder) Socket(name string) string { return filepath.Join(f.sockets, name) }

// Log returns the path of a child's log, after setting a large one aside as NAME.log.1.
func (f *Folder) Log(child string) string {
	path := f.Path("log", child+".log")
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".1") // a log that cannot be moved goes on growing, which does no other harm
	}
	return path
}

// Port returns the API server's port on 127.0.0.1: that of the last start if it is free or becomes free within
// portPatience, otherwise a free one, which it records.
func (f *Folder) Port(ctx context.Context) (int, error) {
	if port, recorded := f.recordedPort(); recorded {
		ctx, cancel := context.WithTimeout(ctx, portPatience)
		defer cancel()
		if awaitPort(ctx, port) {
			return port, nil
		}
	}
	port, err := freePort(0)
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return port, writeFile(f.Path("port"), []byte(strconv.Itoa(port)+"\n"))
}

func (f *Folder) recordedPort() (int, bool) {
	text, err := os.ReadFile(f.Path("port"))
	if err != nil {
		return 0, false
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return port, err == nil && port > 0
}

// awaitPort tries until the port is free or ctx ends.
func awaitPort(ctx context.Context, port int) bool {
	tick := time.NewTicker(portPatience / 20)
	defer tick.Stop()
	for {
		if _, err := freePort(port); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// freePort returns port if nobody listens there, or any free port for 0.
func freePort(port int) (int, error) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// writeFile replaces a file in one step, with mode 0600.
func writeFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
