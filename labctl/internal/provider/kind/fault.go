package kind

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// targets are how a pod's packets to the API server end. A plain REJECT would be a black hole: an established connection takes no notice
// of it.
var targets = map[provider.Silence]string{
	provider.Refuse:    "REJECT --reject-with tcp-reset", // each connection breaks at once, and no new one is made
	provider.BlackHole: "DROP",                           // nobody tells the pod
}

const apiPort = 6443 // of the API server in its node: what packets carry once the service's address was replaced

// ruleMark begins the comment of every rule.
const ruleMark = "labctl-cut-"

// cutOff keeps the pod with that address from the API server for a while: until it is mended, or until the kernel lets packets pass
// again, whatever happens to labctl, which is at the end of a whole second. Probes, logs and exec, which the kubelet serves, go on.
func (p *Provider) cutOff(ctx context.Context, cluster provider.Cluster, podIP string, how provider.Silence, lasts time.Duration) error {
	ip, err := netip.ParseAddr(podIP)
	if err != nil || !ip.Is4() {
		return fmt.Errorf("cut off pod: %q is no IPv4 address", podIP)
	}
	last := time.Now().Add(lasts).Truncate(time.Second) // the rule still holds in this second
	rule := fmt.Sprintf("FORWARD -s %s -p tcp --dport %d -m time --datestop %s -m comment --comment %s%d -j %s",
		ip, apiPort, last.UTC().Format("2006-01-02T15:04:05"), ruleMark, last.Unix()+1, targets[how])
	if _, err := p.in(ctx, worker(clusterOf(cluster.Name)), "iptables -w -I "+rule); err != nil {
		return fmt.Errorf("cut off pod %s: %w", podIP, err)
	}
	return nil
}

// mend removes the rules that keep a pod from the API server, also those that a killed labctl left.
func (p *Provider) mend(ctx context.Context, cluster provider.Cluster, podIP string) error {
	_, err := p.in(ctx, worker(clusterOf(cluster.Name)), "iptables -w -S FORWARD | grep -F -e '-s "+podIP+"/32 ' | grep -F -e '"+ruleMark+"' | sed 's/^-A/iptables -w -D/' | sh")
	if err != nil {
		return fmt.Errorf("end the cut of %s: %w", podIP, err)
	}
	return nil
}

// thaw lets the stopped processes of a pod go on.
func (p *Provider) thaw(ctx context.Context, cluster provider.Cluster, podUID string) error {
	node, found, err := p.processes(ctx, cluster, podUID)
	if err == nil {
		script := "kill -CONT"
		for _, f := range found {
			script += " " + strconv.Itoa(f.pid)
		}
		_, err = p.in(ctx, node, script)
	}
	if err != nil {
		return fmt.Errorf("let pod %s go on: %w", podUID, err)
	}
	return nil
}
