package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"

	"academy.example/lab/labctl/internal/provider"
)

// DefaultImage is the node image that this version of kind was tested with, pinned by its digest.
const DefaultImage = defaults.Image

// What two nodes and the lab need. Measured (docs/providers.md): 0.9 GiB of memory; 1.8 GB of volumes after half an hour.
const (
	minMemory    = 2 << 30
	minDisk      = 4 << 30
	minInstances = 128 // fs.inotify.max_user_instances: three two-node clusters ran with so many
	minWatches   = 8192
)

// infoLimit is how long a Docker daemon may take to say what it is.
const infoLimit = 5 * time.Second

// info is what the Docker daemon says of itself.
type info struct {
	version, cgroup, kernel, root string
	memory                        uint64
}

// daemon asks the daemon; it is given up soon, since a daemon that accepts and says nothing would be waited for for ever.
func daemon(ctx context.Context) (info, error) {
	const format = "{{.ServerVersion}}\t{{.CgroupVersion}}\t{{.KernelVersion}}\t{{.MemTotal}}\t{{.DockerRootDir}}"
	text, err := docker(ctx, infoLimit, "info", "--format", format)
	if err != nil {
		return info{}, explain(err)
	}
	parts := strings.Split(text, "\t")
	if len(parts) != 5 || parts[0] == "" {
		return info{}, &provider.Problem{Err: fmt.Errorf("docker info answered %q, and nothing of the daemon", lastLine(text)), Hint: "docker info"}
	}
	memory, _ := strconv.ParseUint(parts[3], 10, 64) // 0 if unknown: then it is not judged
	return info{version: parts[0], cgroup: parts[1], kernel: parts[2], memory: memory, root: parts[4]}, nil
}

// explain turns the docker program's complaint into a problem with a way out.
func explain(err error) error {
	var known *provider.Problem
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	text := err.Error()
	problem := func(what, hint string) error {
		return &provider.Problem{Err: fmt.Errorf("%s: %w", what, err), Hint: hint}
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return &provider.Problem{Err: errors.New("the program docker is not on PATH, and kind needs it"), Hint: "labctl up --provider embedded"}
	case strings.Contains(text, "permission denied"):
		return problem("this user may not use Docker", "sudo usermod -aG docker $USER && newgrp docker")
	case strings.Contains(text, "Cannot connect to the Docker daemon"), strings.Contains(text, "connection refused"):
		return problem("the Docker daemon does not run", "sudo systemctl start docker")
	case errors.Is(err, errNoAnswer):
		return problem("the Docker daemon hangs", "sudo systemctl restart docker")
	default:
		return problem("Docker", "docker info")
	}
}

// Available checks that Docker answers and the operator's program is there.
func (p *Provider) Available(ctx context.Context) error {
	if _, err := p.program(); err != nil {
		return err
	}
	_, err := daemon(ctx)
	return err
}

// Examine looks at all that a cluster needs: programs, Docker, memory, disk, the node image, inotify.
func (p *Provider) Examine(ctx context.Context, _, image string) []provider.Finding {
	program, err := p.program()
	findings := []provider.Finding{{Name: "programs", Good: program + " is there", Err: err}}
	i, err := daemon(ctx)
	findings = append(findings, provider.Finding{Name: "docker", Good: "Docker " + i.version + " answers", Err: err})
	if err != nil {
		return findings
	}
	return append(findings, cgroup(i), memory(i), disk(i), p.imageThere(ctx, image), inotify(i))
}

func cgroup(i info) provider.Finding {
	good := "cgroup v2"
	if i.cgroup == "1" {
		good = "cgroup v1: the kubelet is told to put up with it"
	}
	return provider.Finding{Name: "cgroup", Good: good}
}

// native reports whether Docker's containers run on this machine's own kernel: then its clock and its files are theirs.
func native(i info) bool {
	var u unix.Utsname
	return runtime.GOOS == "linux" && unix.Uname(&u) == nil && unix.ByteSliceToString(u.Release[:]) == i.kernel
}

func memory(i info) provider.Finding {
	f := provider.Finding{Name: "memory", Good: fmt.Sprintf("Docker has %.1f GiB", float64(i.memory)/(1<<30))}
	if i.memory > 0 && i.memory < minMemory {
		f.Err = &provider.Problem{Err: fmt.Errorf("%.1f GiB of memory are Docker's, and two nodes need %d", float64(i.memory)/(1<<30), minMemory>>30), Hint: "labctl up --provider embedded"}
	}
	return f
}

func disk(i info) provider.Finding {
	f := provider.Finding{Name: "disk", Good: "Docker's disk is another machine's: not looked at"}
	var fs unix.Statfs_t
	if !native(i) || unix.Statfs(i.root, &fs) != nil {
		return f
	}
	free := fs.Bavail * uint64(fs.Bsize)
	f.Good = fmt.Sprintf("%.1f GiB are free under %s", float64(free)/(1<<30), i.root)
	if free < minDisk {
		f.Err = &provider.Problem{Err: fmt.Errorf("%s, and two nodes need %d", f.Good, minDisk>>30), Hint: "docker system df"}
	}
	return f
}

// imageThere looks for the node image on this machine. A missing one is no reason for `up` to fail: it pulls it.
func (p *Provider) imageThere(ctx context.Context, image string) provider.Finding {
	if image == "" {
		image = DefaultImage
	}
	f := provider.Finding{Name: "image", Making: true, Good: "the node image " + short(image) + " is here"}
	there, err := present(ctx, image)
	switch {
	case err != nil:
		f.Err = explain(err)
	case !there:
		f.Err = &provider.Problem{Err: fmt.Errorf("the node image %s is not on this machine; up pulls it, which needs the network", short(image)), Hint: "docker pull " + image}
	}
	return f
}

// short is an image's name without its digest.
func short(image string) string {
	name, _, _ := strings.Cut(image, "@")
	return name
}

// present reports whether Docker has an image.
func present(ctx context.Context, image string) (bool, error) {
	_, err := docker(ctx, askLimit, "image", "inspect", "--format", "{{.Id}}", image)
	if complaint := new(dockerError); errors.As(err, &complaint) && strings.Contains(complaint.text, "No such image") {
		return false, nil
	}
	return err == nil, err
}

func inotify(i info) provider.Finding {
	f := provider.Finding{Name: "inotify", Good: "the limits are another machine's: not looked at"}
	if !native(i) {
		return f
	}
	instances, err1 := readNumber("/proc/sys/fs/inotify/max_user_instances")
	watches, err2 := readNumber("/proc/sys/fs/inotify/max_user_watches")
	if errors.Join(err1, err2) != nil {
		f.Good = "the limits can't be read: not looked at"
		return f
	}
	f.Good = fmt.Sprintf("max_user_instances %d, max_user_watches %d", instances, watches)
	if instances < minInstances || watches < minWatches {
		f.Err = &provider.Problem{Err: fmt.Errorf("%s: too few for the programs of two nodes", f.Good), Hint: "sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"}
	}
	return f
}

func readNumber(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}
