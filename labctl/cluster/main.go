// Command academy-cluster runs a small Kubernetes on this host: etcd, an API server, a few controllers and a node
// whose containers are local processes.
package main

import (
	"errors"
	"fmt"
	"os"

	"academy.example/lab/labctl/cluster/internal/state"
	"academy.example/lab/labctl/cluster/internal/supervise"
)

const usage = `usage:
  academy-cluster run --name NAME --state DIR --sockets DIR [--image NAME=PATH]... [--pod-start-latency 1.2s]
  academy-cluster version
`

// Exit codes: a cluster that ended by itself, and one that could not be started.
const (
	exitFailed      = 1
	exitCouldNotRun = 3
)

func main() {
	os.Exit(dispatch(os.Args[1:]))
}

func dispatch(args []string) int {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	var err error
	switch command {
	case "run":
		err = run(args)
	case "child":
		err = child(args)
	case "version":
		fmt.Printf("academy-cluster %s (Kubernetes %s)\n", version(), kubernetesVersion())
	default:
		err = &state.Problem{Err: fmt.Errorf("unknown command %q", command), Hint: "academy-cluster run --name lab --state DIR --sockets DIR"}
		fmt.Fprint(os.Stderr, usage)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	var problem *state.Problem
	if !errors.As(err, &problem) {
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "hint:", problem.Hint)
	var failed *supervise.FailedError
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitCouldNotRun
}
