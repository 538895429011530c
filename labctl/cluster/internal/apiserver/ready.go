package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"academy.example/lab/labctl/cluster/internal/pki"
)

const (
	fullPath = "/readyz"
	// Both hooks sleep for a second before their first try and then create dozens of objects, which members of
	// system:masters and workloads with Roles of their own do not need.
	earlyPath = fullPath + "?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"

	pollEvery      = 25 * time.Millisecond
	attemptTimeout = 5 * time.Second
)

// Prober asks an API server whether it is ready.
type Prober struct {
	server string
	client *http.Client
}

// NewProber returns a Prober that presents the given client certificate, which must be of system:masters.
func NewProber(server, caPath string, client pki.Pair) (*Prober, error) {
	pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	ca, err := os.ReadFile(caPath)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("read authority: %s holds no certificate", caPath)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: false,
	}
	return &Prober{server: server, client: &http.Client{Transport: transport, Timeout: attemptTimeout}}, nil
}

// WaitEarly returns when administrators and workloads with their own Roles can use the API: everything is ready
// except, perhaps, the bootstrap roles and priority classes. It returns an error only when ctx has ended.
func (p *Prober) WaitEarly(ctx context.Context) error { return p.wait(ctx, earlyPath) }

// WaitFull returns when every readiness check passes. It returns an error only when ctx has ended.
func (p *Prober) WaitFull(ctx context.Context) error { return p.wait(ctx, fullPath) }

// Close gives up the connection that successive attempts share.
func (p *Prober) Close() { p.client.CloseIdleConnections() }

func (p *Prober) wait(ctx context.Context, path string) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := p.attempt(ctx, path)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the Kubernetes API: %w, last: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (p *Prober) attempt(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.server+path, nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
