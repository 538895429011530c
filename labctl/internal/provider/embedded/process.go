package embedded

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// process is a started academy-cluster, watched for an early end.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	exit error
}

func watch(cmd *exec.Cmd) *process {
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.exit = cmd.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// err is why the process ended; call it only after ended is true.
func (p *process) err() error {
	if p.exit == nil {
		return fmt.Errorf("exit status 0")
	}
	return p.exit
}

// end stops a cluster that did not come up.
func (p *process) end() {
	if p.ended() {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// apiProbe asks the API server whether it is ready, over a connection of its own.
type apiProbe struct {
	client *http.Client
	url    string
}

// earlyReady leaves out two post-start hooks that sleep a second before they begin: the default roles and priority
// classes. Nothing that the lab does at its start needs them.
const earlyReady = "/readyz?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"

func newAPIProbe(r record) (*apiProbe, error) {
	config, err := provider.ReadConfig(r.Kubeconfig)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(config.CAData)
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		return nil, fmt.Errorf("client certificate in %s: %w", r.Kubeconfig, err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}
	return &apiProbe{client: &http.Client{Transport: transport, Timeout: 2 * time.Second}, url: r.Server + earlyReady}, nil
}

func (a *apiProbe) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return false
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// lastLines returns the last n lines of a file, indented; "" if it can't be read or is empty.
func lastLines(name string, n int) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "hint:") }) // labctl gives its own
	lines = lines[max(0, len(lines)-n):]
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	return "    " + strings.Join(lines, "\n    ")
}
