// Package kind is the provider that runs the lab on a real kubelet: a kind cluster in Docker, one control plane and one
// worker, on which both replicas run. kind is used as a library; what it does by the docker program is done by it here too.
package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/labctl/internal/provider/image"
	"academy.example/lab/operator/api"
)

// DefaultPodStartLatency is what the kubelet of such a cluster takes from the creation of a replacement to its process: the
// median of twenty in docs/providers.md. The model takes it for the start of a replacement; a trial is judged by its own.
const DefaultPodStartLatency = time.Second

// Provider runs kind clusters. The zero value finds the operator's program beside labctl's own. It keeps a shell in each
// node that it was asked about, for as long as the program runs.
type Provider struct {
	// BinDir holds academy-operator; empty means the folder of the running program.
	BinDir string

	mu     sync.Mutex
	shells map[string]*shell // by container name
	looked time.Time         // when Docker was last asked whether a silent cluster is there
	gone   error             // what it said
}

var (
	_ provider.Provider       = (*Provider)(nil)
	_ provider.Signaler       = (*Provider)(nil)
	_ provider.ProcessWatcher = (*Provider)(nil)
	_ provider.Auditor        = (*Provider)(nil)
	_ provider.NodeProber     = (*Provider)(nil)
)

// name is the word that --provider takes.
const name = "kind"

// Name is "kind".
func (*Provider) Name() string { return name }

// clusterOf is the name that kind knows a lab's cluster by. It is never empty: kind would take the user's own cluster.
func clusterOf(lab string) string { return "labctl-" + lab }

// Names of the node containers, as kind makes them.
func controlPlane(cluster string) string { return cluster + "-control-plane" }
func worker(cluster string) string       { return cluster + "-worker" }

// program returns the absolute path of the operator's program.
func (p *Provider) program() (string, error) {
	dir, err := provider.ProgramDir(p.BinDir)
	if err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(dir, api.Program))
	if err != nil {
		return "", err
	}
	for _, path := range []string{path + image.LinuxSuffix, path} { // where labctl runs on another system, its own operator can't run in a node
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	return "", &provider.Problem{Err: fmt.Errorf("the program %s is not in %s", api.Program, dir), Hint: "make tools"}
}

// Find returns the running cluster of that name. It is asked often: as long as the API server's port is open, no program
// is started.
func (p *Provider) Find(ctx context.Context, lab string) (provider.Cluster, error) {
	at, err := home.New(lab)
	if err != nil {
		return provider.Cluster{}, err
	}
	if owner, err := at.Owner(); err != nil || owner != name {
		return provider.Cluster{}, errors.Join(err, noLab(lab))
	}
	r, err := readRecord(at.State)
	if errors.Is(err, os.ErrNotExist) {
		return provider.Cluster{}, &provider.Problem{Err: fmt.Errorf("lab %s is still starting, or its start was interrupted", lab), Hint: "labctl up --provider kind"}
	}
	if err != nil {
		return provider.Cluster{}, &provider.Problem{Err: err, Hint: "labctl down && labctl up --provider kind"}
	}
	if !listens(ctx, r.Server) {
		if err := p.there(ctx, lab, r); err != nil {
			return provider.Cluster{}, err
		}
	}
	return r.cluster(at.State), nil
}

func noLab(lab string) error {
	return &provider.Problem{Err: fmt.Errorf("%w (name %s)", provider.ErrNoLab, lab), Hint: "labctl up --provider kind"}
}

// listens reports whether somebody accepts connections at a server's address.
func listens(ctx context.Context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: 300 * time.Millisecond}
	connection, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	connection.Close()
	return true
}

// askEvery bounds how often Docker is asked about a cluster whose API server is silent.
const askEvery = 3 * time.Second

// there asks Docker whether the containers of a silent cluster run: an API server may be away for a while.
func (p *Provider) there(ctx context.Context, lab string, r record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.looked) < askEvery {
		return p.gone
	}
	found, err := containers(ctx, r.Cluster)
	switch {
	case err != nil:
		return nil // nobody knows; the requests will tell what is wrong
	case len(found) == 0:
		p.gone = noLab(lab)
	case !running(found):
		p.gone = &provider.Problem{Err: fmt.Errorf("the containers of lab %s are stopped", lab), Hint: "labctl up --provider kind"}
	default:
		p.gone = nil
	}
	p.looked = time.Now()
	return p.gone
}
