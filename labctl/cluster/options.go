package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/cluster/internal/state"
)

const (
	nodeName            = "academy-node"
	defaultStartLatency = 1200 * time.Millisecond
)

// options are the flags of run, and of each child, which gets the same ones and the port.
type options struct {
	name         string
	state        string
	sockets      string
	images       images
	startLatency time.Duration
	port         int
}

// images maps an image name without tag to the local binary that stands for it.
type images map[string]string

// String returns the flag's value in the form in which it is given.
func (i images) String() string {
	pairs := make([]string, 0, len(i))
	for _, name := range slices.Sorted(maps.Keys(i)) {
		pairs = append(pairs, name+"="+i[name])
	}
	return strings.Join(pairs, ",")
}

// Set takes one NAME=PATH.
func (i images) Set(value string) error {
	name, path, found := strings.Cut(value, "=")
	if !found || name == "" || !filepath.IsAbs(path) {
		return errors.New("want NAME=PATH with an absolute path")
	}
	i[name] = path
	return nil
}

// parse reads the flags. Errors are *state.Problem.
func parse(command string, args []string) (options, error) {
	o := options{images: images{}}
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.StringVar(&o.name, "name", "lab", "name of the cluster")
	flags.StringVar(&o.state, "state", "", "absolute `folder` for everything that the cluster keeps; created with mode 0700")
	flags.StringVar(&o.sockets, "sockets", "", "absolute, short `folder` with mode 0700 for unix sockets")
	flags.Var(o.images, "image", "`NAME=PATH` of an image and the binary that stands for it; may be repeated")
	flags.DurationVar(&o.startLatency, "pod-start-latency", defaultStartLatency, "a pod starts no sooner than this after it is bound")
	if command != "run" {
		flags.IntVar(&o.port, "port", 0, "port of the API server")
	}
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	hint := "academy-cluster " + command + " -h"
	switch {
	case err != nil:
		return o, &state.Problem{Err: err, Hint: hint}
	case flags.NArg() > 0:
		return o, &state.Problem{Err: fmt.Errorf("unexpected argument %q", flags.Arg(0)), Hint: hint}
	case o.name == "" || o.state == "" || o.sockets == "":
		return o, &state.Problem{Err: errors.New("--name, --state and --sockets are needed"), Hint: hint}
	case o.startLatency < 0:
		return o, &state.Problem{Err: fmt.Errorf("--pod-start-latency %v is negative", o.startLatency), Hint: hint}
	}
	return o, nil
}

// args is the inverse of parse.
func (o options) args() []string {
	args := []string{
		"--name=" + o.name, "--state=" + o.state, "--sockets=" + o.sockets,
		"--pod-start-latency=" + o.startLatency.String(), fmt.Sprintf("--port=%d", o.port),
	}
	for _, name := range slices.Sorted(maps.Keys(o.images)) {
		args = append(args, "--image="+name+"="+o.images[name])
	}
	return args
}

func (o options) server() string { return fmt.Sprintf("https://127.0.0.1:%d", o.port) }

// kubernetesVersion is the release of the Kubernetes code in this binary.
func kubernetesVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/kubernetes" {
				return dep.Version
			}
		}
	}
	return "unknown"
}

// version is what `go build` recorded of this program, or dev.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
