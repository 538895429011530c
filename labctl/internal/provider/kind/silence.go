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
	if how == provider.Freeze {
		return p.freezeFor(ctx, cluster, pod.UID, lasts)
	}
	return p.cutOff(ctx, cluster, pod.IP, how, lasts)
}

// Restore ends a silence.
func (p *Provider) Restore(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, how provider.Silence) error {
	if how == provider.Freeze {
		return p.thaw(ctx, cluster, pod.UID)
	}
	return p.mend(ctx, cluster, pod.IP)
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
