package kind

import (
	"context"
	"fmt"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// Silence stops the pod's processes, or cuts its way to the API server, for a while that ends by itself: the kernel ends a
// cut, and a process in the node, which was begun before, lets stopped ones go on.
func (p *Provider) Silence(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, how provider.Silence, lasts time.Duration) error {
	switch how {
	case provider.Freeze:
		return p.freezeFor(ctx, cluster, pod.UID, lasts)
	case provider.Refuse:
		_, err := p.CutOff(ctx, cluster, pod.IP, Refuse, lasts)
		return err
	default:
		_, err := p.CutOff(ctx, cluster, pod.IP, BlackHole, lasts)
		return err
	}
}

// Restore ends a silence.
func (p *Provider) Restore(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, how provider.Silence) error {
	if how == provider.Freeze {
		_, err := p.Thaw(ctx, cluster, pod.UID)
		return err
	}
	_, err := p.in(ctx, worker(clusterOf(cluster.Name)), "iptables -w -S FORWARD | grep -F -e '-s "+pod.IP+"/32 ' | grep -F -e '"+ruleMark+"' | sed 's/^-A/iptables -w -D/' | sh")
	if err != nil {
		return fmt.Errorf("end the cut of %s: %w", pod.IP, err)
	}
	return nil
}

// freezeFor arms the process that ends the freeze, and then freezes.
func (p *Provider) freezeFor(ctx context.Context, cluster provider.Cluster, podUID string, lasts time.Duration) error {
	node, found, err := p.processes(ctx, cluster, podUID)
	if err != nil {
		return fmt.Errorf("freeze pod %s: %w", podUID, err)
	}
	var pids []string
	for _, f := range found {
		pids = append(pids, fmt.Sprint(f.pid))
	}
	all := strings.Join(pids, " ")
	script := fmt.Sprintf("setsid sh -c 'sleep %.1f; kill -CONT %s' </dev/null >/dev/null 2>&1 & kill -STOP %s", lasts.Seconds(), all, all)
	if _, err := p.in(ctx, node, script); err != nil {
		return fmt.Errorf("freeze pod %s: %w", podUID, err)
	}
	return nil
}
