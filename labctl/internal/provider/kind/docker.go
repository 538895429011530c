package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// labelCluster is the label that kind puts on its containers.
const labelCluster = "io.x-k8s.kind.cluster"

// askLimit bounds a question to Docker, and removeLimit the removal of containers.
const (
	askLimit    = 10 * time.Second
	removeLimit = 60 * time.Second
)

var errNoAnswer = errors.New("no answer from Docker")

// docker runs the docker program and returns what it printed. Its process group is its own, so that a Ctrl-C meant for
// labctl does not end it half way.
func docker(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %s", errNoAnswer, limit))
	defer cancel()
	cmd := exec.CommandContext(limited, "docker", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", context.Cause(limited)
	case err != nil && complaint.Len() > 0:
		return "", &dockerError{lastLine(complaint.String()), err}
	}
	return strings.TrimSpace(out.String()), err
}

// dockerError is what the docker program complained of.
type dockerError struct {
	text string
	err  error
}

func (e *dockerError) Error() string { return e.text }
func (e *dockerError) Unwrap() error { return e.err }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// container is a node of a cluster.
type container struct {
	ID, Name, State string
	// Sources are the folders of this machine that are mounted in it, by which a lab knows its own.
	Sources []string
}

// containers lists a cluster's containers, running or not.
func containers(ctx context.Context, cluster string) ([]container, error) {
	ids, err := docker(ctx, askLimit, "ps", "-aq", "--no-trunc", "--filter", "label="+labelCluster+"="+cluster)
	if err != nil || ids == "" {
		return nil, err
	}
	const format = "{{.Id}}\t{{.Name}}\t{{.State.Status}}{{range .Mounts}}\t{{.Source}}{{end}}"
	text, err := docker(ctx, askLimit, append([]string{"inspect", "--type=container", "--format", format}, strings.Fields(ids)...)...)
	if complaint := new(dockerError); errors.As(err, &complaint) && strings.Contains(complaint.text, "No such container") {
		return containers(ctx, cluster) // one of them went meanwhile
	}
	if err != nil {
		return nil, err
	}
	var found []container
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) >= 3 {
			found = append(found, container{ID: parts[0], Name: strings.TrimPrefix(parts[1], "/"), State: parts[2], Sources: parts[3:]})
		}
	}
	return found, nil
}

// running reports whether a cluster's two nodes are there and run.
func running(found []container) bool {
	return len(found) == 2 && !slices.ContainsFunc(found, func(c container) bool { return c.State != "running" })
}

// own refuses containers that another state folder's lab made: of another user, or another XDG_STATE_HOME.
func own(at home.Home, cluster string, found []container) error {
	for _, c := range found {
		if !slices.Contains(c.Sources, mounted(at.State)) {
			return &provider.Problem{Err: fmt.Errorf("the container %s of kind cluster %s was not made for this lab, whose folder is %s", c.Name, cluster, at.State),
				Hint: "labctl up --provider kind --name lab2"}
		}
	}
	return nil
}

// sweep removes a cluster's containers with their volumes, again and again until none was found twice, some time apart:
// a `docker run` that was under way makes its container after its own end.
func sweep(ctx context.Context, cluster string, say func(string)) error {
	if cluster == "" || cluster == clusterOf("") {
		return errors.New("a cluster without a name is nobody's") // kind would take the user's own
	}
	const apart, limit = 2 * time.Second, 90 * time.Second
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("containers of kind cluster %s kept coming back for %s", cluster, limit))
	defer cancel()
	for empty, failures := 0, 0; ; {
		left, err := remove(limited, cluster)
		wait := time.Duration(0)
		switch {
		case err != nil && (failures == removeTries || limited.Err() != nil):
			return fmt.Errorf("remove the containers of kind cluster %s: %w", cluster, err)
		case err != nil: // one that is just being made or removed can't be removed now
			failures, empty, wait = failures+1, 0, time.Second
		case left > 0:
			empty = 0
		case empty == 1:
			return nil
		default:
			say("making sure that no container comes after its removal")
			empty, wait = 1, apart
		}
		select {
		case <-limited.Done():
			return context.Cause(limited)
		case <-time.After(wait):
		}
	}
}

// removeTries is how often a removal that failed is tried again.
const removeTries = 8

// remove removes a cluster's containers and returns how many there were.
func remove(ctx context.Context, cluster string) (int, error) {
	ids, err := docker(ctx, askLimit, "ps", "-aq", "--no-trunc", "--filter", "label="+labelCluster+"="+cluster)
	if err != nil || ids == "" {
		return 0, err
	}
	found := strings.Fields(ids)
	_, err = docker(ctx, removeLimit, append([]string{"rm", "-f", "-v"}, found...)...)
	if complaint := new(dockerError); errors.As(err, &complaint) && strings.Contains(complaint.text, "No such container") {
		err = nil // somebody else was quicker
	}
	return len(found), err
}
