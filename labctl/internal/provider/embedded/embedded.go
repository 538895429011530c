// Package embedded is the provider that runs a real Kubernetes control plane and a small node as local processes:
// the program academy-cluster. It needs no Docker and no root, and listens on loopback only.
package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/operator/api"
)

// DefaultPodStartLatency is what a kind node takes from binding a pod to its process; without it the replacement pod
// would win nearly every race against the standby.
const DefaultPodStartLatency = 1200 * time.Millisecond

const (
	startLimit = 3 * time.Minute // a busy machine has needed 33 s
	stopLimit  = 15 * time.Second
	pollEvery  = 15 * time.Millisecond
)

// Provider runs academy-cluster. The zero value finds the programs beside labctl's own.
type Provider struct {
	// BinDir holds academy-cluster and academy-operator; empty means the folder of the running program.
	BinDir string
}

var (
	_ provider.Provider       = Provider{}
	_ provider.Signaler       = Provider{}
	_ provider.ProcessWatcher = Provider{}
	_ provider.Auditor        = Provider{}
	_ provider.NodeProber     = Provider{}
	_ provider.Slower         = Provider{}
	_ provider.ServerStopper  = Provider{}
)

// name is the word that --provider takes.
const name = "embedded"

// Name is "embedded".
func (Provider) Name() string { return name }

// Available checks that both programs are there.
func (p Provider) Available(context.Context) error {
	for _, program := range []string{"academy-cluster", "academy-operator"} {
		if _, err := p.program(program); err != nil {
			return err
		}
	}
	return nil
}

// program returns the absolute path of a program of the kit.
func (p Provider) program(name string) (string, error) {
	dir, err := provider.ProgramDir(p.BinDir)
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
		return "", &provider.Problem{Err: fmt.Errorf("the program %s is not in %s", name, dir), Hint: "make build"}
	}
	return path, nil
}

// record is cluster.json, which academy-cluster writes.
type record struct {
	Schema                 string  `json:"schema"`
	Name                   string  `json:"name"`
	PID                    int     `json:"pid"`
	Server                 string  `json:"server"`
	Kubeconfig             string  `json:"kubeconfig"`
	NodeSocket             string  `json:"nodeSocket"`
	AuditLog               string  `json:"auditLog"`
	PodStartLatencySeconds float64 `json:"podStartLatencySeconds"`
	Kubernetes             string  `json:"kubernetes"`
	Version                string  `json:"version"` // of academy-cluster
	Children               map[string]struct {
		PID int `json:"pid"`
	} `json:"children"`
}

func (r record) cluster(p paths) provider.Cluster {
	return provider.Cluster{
		Name: r.Name, Provider: name, Server: r.Server, Kubeconfig: r.Kubeconfig, Kubernetes: r.Kubernetes,
		PodStartLatency: time.Duration(r.PodStartLatencySeconds * float64(time.Second)), StateDir: p.state, SharedClock: true,
	}
}

// keepFiles keeps files that this program was started with, such as a caller's lock, from the cluster, which lives longer.
func keepFiles() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // they are inherited then, as by any program
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func readRecord(p paths) (record, error) {
	data, err := os.ReadFile(filepath.Join(p.state, "cluster.json"))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("read %s: %w", filepath.Join(p.state, "cluster.json"), err)
	}
	if r.Schema == "academy-cluster/v1" && (r.Server == "" || r.Kubeconfig == "" || r.PID < 2) {
		return record{}, fmt.Errorf("%s is not whole", filepath.Join(p.state, "cluster.json"))
	}
	if r.Schema != "academy-cluster/v1" {
		return record{}, fmt.Errorf("%s has schema %q, want academy-cluster/v1: labctl and academy-cluster are of different versions", filepath.Join(p.state, "cluster.json"), r.Schema)
	}
	return r, nil
}

// Find returns the running cluster of that name.
func (p Provider) Find(_ context.Context, name string) (provider.Cluster, error) {
	where, err := newPaths(name)
	if err != nil {
		return provider.Cluster{}, err
	}
	running, err := home.Locked(filepath.Join(where.state, "lock"))
	if err != nil {
		return provider.Cluster{}, fmt.Errorf("look for lab %s: %w", name, err)
	}
	if !running {
		return provider.Cluster{}, noLab(name)
	}
	r, err := readRecord(where)
	if errors.Is(err, os.ErrNotExist) {
		return provider.Cluster{}, &provider.Problem{Err: fmt.Errorf("lab %s is still starting, or its cluster.json was removed", name), Hint: "labctl up"}
	}
	if err != nil {
		return provider.Cluster{}, &provider.Problem{Err: err, Hint: "labctl down && labctl up"}
	}
	return r.cluster(where), nil
}

func noLab(name string) error {
	return &provider.Problem{Err: fmt.Errorf("%w (name %s)", provider.ErrNoLab, name), Hint: "labctl up"}
}

// Up starts the cluster, or finds it running, and returns when its API server answers.
func (p Provider) Up(ctx context.Context, spec provider.Spec) (provider.Cluster, error) {
	say := spec.Progress
	if say == nil {
		say = func(string) {}
	}
	where, err := newPaths(spec.Name)
	if err != nil {
		return provider.Cluster{}, err
	}
	release, err := home.Guard(ctx, where.home.Lock, func() { say("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return provider.Cluster{}, err
	}
	defer release()
	if err := where.home.Claim(name); err != nil {
		return provider.Cluster{}, err
	}
	for {
		running, err := home.Locked(filepath.Join(where.state, "lock"))
		if err != nil {
			return provider.Cluster{}, fmt.Errorf("look for lab %s: %w", spec.Name, err)
		}
		var started *process
		if !running {
			say("starting etcd, kube-apiserver, controllers and a node")
			if started, err = p.start(where, spec); err != nil {
				return provider.Cluster{}, err
			}
		}
		cluster, err := p.ready(ctx, where, started, say)
		if errors.Is(err, errOther) {
			continue // it ended meanwhile, or another one was quicker
		}
		if err != nil && started != nil {
			started.end()
		}
		cluster.Started = started != nil
		return cluster, err
	}
}

// imageName is the operator's image without its tag: the node runs the local program in its place.
func imageName() string {
	name, _, _ := strings.Cut(api.DefaultImage, ":")
	return name
}

// start runs academy-cluster, detached from this terminal.
func (p Provider) start(where paths, spec provider.Spec) (*process, error) {
	program, err := p.program("academy-cluster")
	if err != nil {
		return nil, err
	}
	operator, err := p.program("academy-operator")
	if err != nil {
		return nil, err
	}
	for _, l := range limits(where.state) {
		if l.Err != nil {
			return nil, l.Err
		}
	}
	for _, dir := range []string{where.state, where.sockets} {
		if err := home.Private(dir); err != nil {
			return nil, err
		}
	}
	// An earlier cluster's, which may be of another version, or only half of it.
	if err := os.Remove(filepath.Join(where.state, "cluster.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the record of the cluster before: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(where.state, "cluster.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open cluster.log: %w", err)
	}
	defer logFile.Close()
	cmd := exec.Command(program, "run", "--name", spec.Name, "--state", where.state, "--sockets", where.sockets,
		"--image", imageName()+"="+operator, "--pod-start-latency", spec.PodStartLatency.String())
	for _, name := range slices.Sorted(maps.Keys(spec.Images)) {
		cmd.Args = append(cmd.Args, "--image", name+"="+spec.Images[name])
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	keepFiles()
	if err := cmd.Start(); err != nil {
		return nil, &provider.Problem{Err: fmt.Errorf("start academy-cluster: %w", err), Hint: "make build"}
	}
	return watch(cmd), nil
}

// errOther is returned by ready when it waits for the wrong cluster: the one that was found has ended, or the one that was
// started gave way to another.
var errOther = errors.New("it is another cluster's turn")

// ready waits until the API server answers: of the cluster that was started, or else of the one that holds the lock.
func (p Provider) ready(ctx context.Context, where paths, started *process, say func(string)) (provider.Cluster, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("the API server did not answer within %s", startLimit))
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	begun := time.Now()
	var probe *apiProbe
	for {
		if err := other(where, started); err != nil {
			return provider.Cluster{}, err
		}
		r, err := readRecord(where)
		if err == nil && started != nil && r.PID != started.cmd.Process.Pid {
			err = os.ErrNotExist // an earlier cluster's; the new one has not written its own yet
		}
		if err == nil && probe == nil {
			if err := together(r.Version); err != nil && started != nil {
				return provider.Cluster{}, err
			}
			probe, err = newAPIProbe(r)
		}
		if err == nil && probe.ready(ctx) {
			return r.cluster(where), nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return provider.Cluster{}, failed(where, err)
		}
		if started == nil && time.Since(begun) > time.Second {
			say(fmt.Sprintf("waiting for the API server of the running lab (at most %s)", startLimit))
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return provider.Cluster{}, ctx.Err()
			}
			return provider.Cluster{}, failed(where, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// other tells whether waiting has become pointless.
func other(where paths, started *process) error {
	if started != nil && !started.ended() {
		return nil
	}
	running, err := home.Locked(filepath.Join(where.state, "lock"))
	switch {
	case err != nil:
		return fmt.Errorf("look for the cluster: %w", err)
	case running == (started != nil):
		return errOther
	case started != nil:
		return failed(where, fmt.Errorf("academy-cluster ended while starting: %w", started.err()))
	default:
		return nil
	}
}

// failed adds the end of the cluster's log to an error, so that the cause is on the screen.
func failed(where paths, err error) error {
	name := filepath.Join(where.state, "cluster.log")
	if tail := lastLines(name, 5); tail != "" {
		err = fmt.Errorf("%w\n  the end of %s:\n%s", err, name, tail)
	}
	return &provider.Problem{Err: err, Hint: "labctl down && labctl up"}
}
