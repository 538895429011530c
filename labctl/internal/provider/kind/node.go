package kind

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// uidPattern is what a pod's UID may look like; it goes into a script.
var uidPattern = regexp.MustCompile(`^[-0-9a-f]{8,64}$`)

// findProcesses is the script that prints a pod's processes, for each its pid, whether it is its container's first, and
// its name: by their cgroup, whose path holds the UID, with dashes or underscores. The sandbox's own is left out.
func findProcesses(uid string) string {
	return `for f in $(grep -lE 'pod(` + uid + `|` + strings.ReplaceAll(uid, "-", "_") + `)' /proc/[0-9]*/cgroup 2>/dev/null); do
  d=${f%/cgroup}; n=; first=no
  read n <$d/comm || continue
  [ "$n" = pause ] && continue
  while read key words; do [ "$key" = NSpid: ] && for w in $words; do last=$w; done; done <$d/status
  [ "$last" = 1 ] && first=yes
  echo "${d#/proc/} $first $n"
done`
}

// process is a process of a pod, as its node numbers it.
type process struct {
	pid   int
	first bool // of its container
	name  string
}

func parseProcesses(out string) []process {
	var found []process
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(words[0]); err == nil && pid > 1 {
			found = append(found, process{pid: pid, first: words[1] == "yes", name: strings.Join(words[2:], " ")})
		}
	}
	return found
}

// processes returns the node that runs a pod and the pod's processes there. The error wraps ErrNotRunning if there are none.
func (p *Provider) processes(ctx context.Context, cluster provider.Cluster, podUID string) (node string, found []process, err error) {
	if !uidPattern.MatchString(podUID) {
		return "", nil, fmt.Errorf("%w: %q is no pod's UID", provider.ErrNotRunning, podUID)
	}
	for _, node := range []string{worker(clusterOf(cluster.Name)), controlPlane(clusterOf(cluster.Name))} {
		out, err := p.in(ctx, node, findProcesses(podUID))
		if err != nil {
			return "", nil, err
		}
		if found := parseProcesses(out); len(found) > 0 {
			return node, found, nil
		}
	}
	return "", nil, fmt.Errorf("pod %s: %w", podUID, provider.ErrNotRunning)
}

// only returns the pod's one container's first process.
func only(found []process) (process, error) {
	var firsts []process
	for _, p := range found {
		if p.first {
			firsts = append(firsts, p)
		}
	}
	if len(firsts) != 1 {
		return process{}, fmt.Errorf("the pod has %d containers that run; which of them leads is not known", len(firsts))
	}
	return firsts[0], nil
}

// killedCode is how a container runtime tells the end by SIGKILL.
const killedCode = 137

// reapLimit is how long a killed process may take to go.
const reapLimit = 5 * time.Second

// Kill sends SIGKILL to the pod's process and returns when the node has reaped it.
func (p *Provider) Kill(ctx context.Context, cluster provider.Cluster, podUID string) (provider.Exit, error) {
	node, found, err := p.processes(ctx, cluster, podUID)
	if err != nil {
		return provider.Exit{}, fmt.Errorf("kill pod %s: %w", podUID, err)
	}
	victim, err := only(found)
	if err != nil {
		return provider.Exit{}, fmt.Errorf("kill pod %s: %w", podUID, err)
	}
	limited, cancel := context.WithTimeout(ctx, reapLimit)
	defer cancel()
	// Signalled and waited for in one script. A killed process goes within milliseconds, so that asking on needs no pause
	// until then, and little after.
	script := fmt.Sprintf(`kill -9 %d || exit 0; n=0; while [ -d /proc/%d ]; do n=$((n+1)); [ $n -gt 2000 ] && sleep 0.01; done; echo gone`, victim.pid, victim.pid)
	out, err := p.in(limited, node, "("+script+")")
	switch {
	case err != nil:
		return provider.Exit{}, fmt.Errorf("kill pod %s: process %d: %w", podUID, victim.pid, err)
	case !strings.HasSuffix(out, "gone"):
		return provider.Exit{}, fmt.Errorf("kill pod %s: %w: %s", podUID, provider.ErrNotRunning, lastLine(out))
	}
	return provider.Exit{PID: victim.pid, ExitCode: killedCode}, nil
}

// NodeProbe asks the worker's shell for a sign of life.
func (p *Provider) NodeProbe(cluster provider.Cluster) func(ctx context.Context) error {
	node := worker(clusterOf(cluster.Name))
	return func(ctx context.Context) error {
		_, err := p.in(ctx, node, "read up rest </proc/uptime")
		return err
	}
}
