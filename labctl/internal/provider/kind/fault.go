package kind

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// bracketed runs a script between two readings of the node's clock, all in one line of its shell.
func (p *Provider) bracketed(ctx context.Context, node, script string) (Bracket, error) {
	out, err := p.in(ctx, node, "b=$(date +%s.%N); "+script+" || exit_status=$?; a=$(date +%s.%N); echo \"$b $a\"; [ \"${exit_status:-0}\" = 0 ] || { unset exit_status; false; }")
	if err != nil {
		return Bracket{}, fmt.Errorf("%s: %w", strings.SplitN(out, "\n", 2)[0], err)
	}
	words := strings.Fields(lastLine(out))
	if len(words) != 2 {
		return Bracket{}, fmt.Errorf("in %s: the clock reads %q", node, lastLine(out))
	}
	before, err := parseStamp(words[0])
	if err != nil {
		return Bracket{}, err
	}
	after, err := parseStamp(words[1])
	return Bracket{Before: before, After: after}, err
}

// parseStamp reads what `date +%s.%N` prints.
func parseStamp(text string) (time.Time, error) {
	whole, part, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the node's clock reads %q", text)
	}
	nanoseconds, err := strconv.ParseInt(part, 10, 64)
	if err != nil || len(part) != 9 {
		return time.Time{}, fmt.Errorf("the node's clock reads %q, which has no nanoseconds", text)
	}
	return time.Unix(seconds, nanoseconds), nil
}

// Freeze stops all processes of a pod with SIGSTOP; Thaw lets them go on. A liveness probe goes on meanwhile.
func (p *Provider) Freeze(ctx context.Context, cluster provider.Cluster, podUID string) (Bracket, error) {
	return p.signalAll(ctx, cluster, podUID, "STOP")
}

// Thaw ends a Freeze.
func (p *Provider) Thaw(ctx context.Context, cluster provider.Cluster, podUID string) (Bracket, error) {
	return p.signalAll(ctx, cluster, podUID, "CONT")
}

func (p *Provider) signalAll(ctx context.Context, cluster provider.Cluster, podUID, signal string) (Bracket, error) {
	node, found, err := p.processes(ctx, cluster, podUID)
	if err != nil {
		return Bracket{}, fmt.Errorf("send SIG%s to pod %s: %w", signal, podUID, err)
	}
	script := "kill -" + signal
	for _, f := range found {
		script += " " + strconv.Itoa(f.pid)
	}
	b, err := p.bracketed(ctx, node, script)
	if err != nil {
		return b, fmt.Errorf("send SIG%s to pod %s: %w", signal, podUID, err)
	}
	return b, nil
}

// Cutting is how a pod's packets to the API server end.
type Cutting string

// Cuttings. A plain REJECT would be a black hole: an established connection takes no notice of it.
const (
	Refuse    Cutting = "REJECT --reject-with tcp-reset" // each connection breaks at once, and no new one is made
	BlackHole Cutting = "DROP"                           // nobody tells the pod
)

// Cut is a rule in a node that keeps a pod from the API server.
type Cut struct {
	Bracket
	// Ends is when the kernel lets packets pass again, whatever happens to labctl: a whole second.
	Ends time.Time

	node, rule, mark string
}

const apiPort = 6443 // of the API server in its node: what packets carry once the service's address was replaced

// CutOff keeps the pod with that address from the API server for a while: until UnCut, or the end of ttl at the latest.
// Probes, logs and exec, which the kubelet serves, go on.
func (p *Provider) CutOff(ctx context.Context, cluster provider.Cluster, podIP string, how Cutting, ttl time.Duration) (Cut, error) {
	ip, err := netip.ParseAddr(podIP)
	if err != nil || !ip.Is4() {
		return Cut{}, fmt.Errorf("cut off pod: %q is no IPv4 address", podIP)
	}
	last := time.Now().Add(ttl).Truncate(time.Second) // the rule still holds in this second
	c := Cut{Ends: last.Add(time.Second), node: worker(clusterOf(cluster.Name))}
	c.mark = fmt.Sprintf("%s%d", ruleMark, c.Ends.Unix())
	c.rule = fmt.Sprintf("FORWARD -s %s -p tcp --dport %d -m time --datestop %s -m comment --comment %s -j %s",
		ip, apiPort, last.UTC().Format("2006-01-02T15:04:05"), c.mark, how)
	if c.Bracket, err = p.bracketed(ctx, c.node, "iptables -w -I "+c.rule); err != nil {
		return c, fmt.Errorf("cut off pod %s: %w", podIP, err)
	}
	return c, nil
}

// ruleMark begins the comment of every rule.
const ruleMark = "labctl-cut-"

// UnCut removes the rule and returns how many packets it has stopped: 0 means that the cut did not take hold.
func (p *Provider) UnCut(ctx context.Context, c Cut) (packets int, b Bracket, err error) {
	out, err := p.in(ctx, c.node, "iptables -w -L FORWARD -nvx | grep -F '"+c.mark+" '")
	if err != nil {
		return 0, b, fmt.Errorf("end the cut: the rule is not there: %w", err)
	}
	if words := strings.Fields(out); len(words) > 0 {
		packets, _ = strconv.Atoi(words[0])
	}
	if b, err = p.bracketed(ctx, c.node, "iptables -w -D "+c.rule); err != nil {
		return packets, b, fmt.Errorf("end the cut: %w", err)
	}
	return packets, b, nil
}

// SweepCuts removes every rule that a killed labctl left in the worker. Their time is over or will be soon.
func (p *Provider) SweepCuts(ctx context.Context, cluster provider.Cluster) error {
	_, err := p.in(ctx, worker(clusterOf(cluster.Name)),
		"iptables -w -S FORWARD | grep -F -e '"+ruleMark+"' | sed 's/^-A/iptables -w -D/' | sh")
	if err != nil {
		return fmt.Errorf("remove old cuts: %w", err)
	}
	return nil
}
