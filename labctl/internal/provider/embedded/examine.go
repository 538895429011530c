package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/operator/api"
)

// What a lab needs. Measured (docs/reliability.md): 354 MiB of memory and 9 MB of files for two replicas, when it is new.
const (
	minMemory = 600 << 20
	minDisk   = 100 << 20
	minFiles  = 256 // open files: the node's process, which has the most, holds 87
)

// Examine looks at all that a lab needs: programs that run and belong together, a folder that can be private, disk, memory,
// open files, and the port of the replicas.
func (p Provider) Examine(ctx context.Context, lab, _ string) []provider.Finding {
	findings := []provider.Finding{p.programs(ctx), p.kubectl()}
	where, err := newPaths(lab)
	if err != nil {
		return append(findings, provider.Finding{Name: "folder", Err: err})
	}
	above, err := usable(where)
	findings = append(findings, provider.Finding{Name: "folder", Good: where.state + " can be made, or is private", Err: err})
	if err != nil {
		return findings
	}
	return append(append(findings, memory()), limits(above)...)
}

// limits are what a lab can't be made without. start refuses to try, since a control plane ends on them in words of its own.
func limits(dir string) []provider.Finding {
	port := provider.Finding{Name: "port", Making: true, Good: fmt.Sprintf("port %d is free for the replicas", api.DefaultPort), Err: portFree(api.DefaultPort)}
	loopback := provider.Finding{Name: "loopback", Good: "this machine can be reached by itself", Err: loopbackUp()}
	return []provider.Finding{disk(dir), files(), space(), loopback, port}
}

// loopbackUp connects to itself.
func loopbackUp() error {
	problem := func(err error) error {
		return &provider.Problem{Err: fmt.Errorf("127.0.0.1 can't be reached, and all parts of a lab talk over it: %w", err), Hint: "sudo ip link set lo up"}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return problem(err)
	}
	defer l.Close()
	c, err := net.DialTimeout("tcp", l.Addr().String(), 2*time.Second)
	if err != nil {
		return problem(err)
	}
	return c.Close()
}

// space looks at the limit of a process's addresses: etcd maps ten GiB, of which it uses little.
func space() provider.Finding {
	const need = 16 << 30
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Max >= need && limit.Cur >= need {
		return provider.Finding{Name: "addresses", Good: "no limit of address space is in etcd's way"}
	}
	return provider.Finding{Name: "addresses", Err: &provider.Problem{Err: fmt.Errorf("a process may have %d MiB of address space, and etcd maps 10 GiB", min(limit.Cur, limit.Max)>>20), Hint: "ulimit -v unlimited"}}
}

// programs runs academy-cluster: one of another version, or for another machine, is found before a lab is made.
func (p Provider) programs(ctx context.Context) provider.Finding {
	f := provider.Finding{Name: "programs", Good: "academy-cluster and academy-operator are there", Err: p.Available(ctx)}
	if f.Err != nil {
		return f
	}
	path, err := p.program("academy-cluster")
	if err != nil {
		f.Err = err
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version").Output()
	words := strings.Fields(string(out))
	switch {
	case err != nil:
		f.Err = &provider.Problem{Err: fmt.Errorf("%s version: %w", path, err), Hint: "make build"}
	case len(words) < 2 || words[0] != "academy-cluster":
		f.Err = &provider.Problem{Err: fmt.Errorf("%s is another program: it calls itself %q", path, strings.TrimSpace(string(out))), Hint: "make build"}
	default:
		f.Err = together(words[1])
		f.Good += ": " + strings.TrimSpace(string(out))
	}
	return f
}

// together fails if academy-cluster is of another version than this labctl.
func together(version string) error {
	if provider.SameVersion(version, provider.Version()) {
		return nil
	}
	if version == "" {
		version = "unknown"
	}
	return &provider.Problem{Err: fmt.Errorf("academy-cluster is of version %s, and this is labctl %s", version, provider.Version()), Hint: "make build"}
}

// kubectl is not needed by labctl, but by whoever types the course's lines.
func (p Provider) kubectl() provider.Finding {
	f := provider.Finding{Name: "kubectl", Good: "the kit's own is there"}
	if _, err := p.program("kubectl"); err == nil {
		return f
	}
	path, err := exec.LookPath("kubectl")
	if err != nil {
		f.Err = &provider.Problem{Err: errors.New("there is no kubectl, neither beside labctl nor on PATH"), Hint: "make build"}
		return f
	}
	f.Good = "the kit's own is missing; " + path + " is taken, of a version that was not looked at"
	return f
}

// usable checks that the lab's folders are private, or can be made; above is the nearest folder that is there.
func usable(where paths) (above string, err error) {
	for _, dir := range []string{where.sockets, where.state} {
		above = dir
		for home.Absent(above) {
			above = filepath.Dir(above)
		}
		if above == dir {
			err = home.Keepable(dir)
		} else if unix.Access(above, unix.W_OK|unix.X_OK) != nil {
			err = &provider.Problem{Err: fmt.Errorf("%s can't be made: %s is not yours to write to", dir, above), Hint: "export XDG_STATE_HOME=$(mktemp -d)"}
		}
		if err != nil {
			return above, err
		}
	}
	return above, nil
}

func disk(dir string) provider.Finding {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return provider.Finding{Name: "disk", Good: "the free space under " + dir + " can't be read: not looked at"}
	}
	return enough("disk", uint64(fs.Bavail)*uint64(fs.Bsize), minDisk, "free under "+dir, "df -h "+dir)
}

// enough compares what there is with what a lab needs, both in bytes.
func enough(name string, have, need uint64, of, hint string) provider.Finding {
	f := provider.Finding{Name: name, Good: fmt.Sprintf("%d MiB %s", have>>20, of)}
	if have < need {
		f.Err = &provider.Problem{Err: fmt.Errorf("%s, and a lab needs %d", f.Good, need>>20), Hint: hint}
	}
	return f
}

// memory looks at what new programs may have without anything else being swapped out. A lab that is up has its share already.
func memory() provider.Finding {
	available, err := memAvailable("/proc/meminfo")
	if err != nil {
		return provider.Finding{Name: "memory", Good: "how much is free is not told by " + runtime.GOOS + ": not looked at"}
	}
	f := enough("memory", available, minMemory, "available", "free -h")
	f.Making = true
	return f
}

func memAvailable(path string) (bytes uint64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[0] == "MemAvailable:" {
			kibibytes, err := strconv.ParseUint(words[1], 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no line MemAvailable", path)
}

func files() provider.Finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return provider.Finding{Name: "files", Good: "the limit of open files can't be read: not looked at"}
	}
	f := provider.Finding{Name: "files", Good: fmt.Sprintf("a process may open %d files", limit.Max)} // Go raises its own limit to that
	if limit.Max < minFiles {
		f.Err = &provider.Problem{Err: fmt.Errorf("%s, and the control plane needs %d", f.Good, minFiles), Hint: "ulimit -n 4096"}
	}
	return f
}

// podAddress is one of those that pods get on this system, and hardly ever in use.
func podAddress() string {
	if runtime.GOOS == "linux" {
		return "127.1.255.254"
	}
	return "127.0.0.1"
}

// portFree fails if another program listens on that port of every address: no replica could then on its own.
func portFree(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(podAddress(), strconv.Itoa(port)))
	if err == nil {
		return listener.Close()
	}
	if runtime.GOOS != "linux" && errors.Is(err, syscall.EADDRINUSE) {
		return nil // pods share one address there, and each gets a port of its own
	}
	return &provider.Problem{Err: fmt.Errorf("the replicas can't listen on port %d: %w", port, err), Hint: fmt.Sprintf("ss -ltnp 'sport = :%d'", port)}
}
