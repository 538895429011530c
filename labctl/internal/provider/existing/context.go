package existing

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"academy.example/lab/labctl/internal/provider"
)

// named is one context of a kubeconfig, taken out of it.
type named struct {
	name, server string
	kubeconfig   []byte // holds that context alone, and no path that is relative
}

// isolate reads the named context. The user's kubeconfig is only read.
func isolate(want provider.Existing) (named, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = want.Kubeconfig
	rules.Warner = func(error) {} // of files in KUBECONFIG that are not there
	config, err := rules.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return named{}, &provider.Problem{Err: fmt.Errorf("there is no kubeconfig %s", want.Kubeconfig), Hint: "kubectl config get-contexts"}
	}
	if err != nil {
		return named{}, &provider.Problem{Err: fmt.Errorf("read the kubeconfig: %w", err), Hint: "kubectl config view"}
	}
	contexts := slices.Sorted(maps.Keys(config.Contexts))
	if config.Contexts[want.Context] == nil {
		return named{}, noContext(want.Context, contexts, strings.Join(rules.Precedence, ", "), want.Kubeconfig)
	}
	config.CurrentContext = want.Context
	if err := clientcmd.ConfirmUsable(*config, want.Context); err != nil {
		return named{}, &provider.Problem{Err: fmt.Errorf("the context %s can't be used: %w", want.Context, err), Hint: "kubectl config view"}
	}
	if err := clientcmdapi.MinifyConfig(config); err != nil {
		return named{}, &provider.Problem{Err: fmt.Errorf("the context %s can't be used: %w", want.Context, err), Hint: "kubectl config view"}
	}
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return named{}, &provider.Problem{Err: fmt.Errorf("read the credentials of context %s: %w", want.Context, err), Hint: "kubectl config view"}
	}
	config.Contexts[want.Context].Namespace = want.Namespace
	data, err := clientcmd.Write(*config)
	if err != nil {
		return named{}, fmt.Errorf("write the context %s down: %w", want.Context, err)
	}
	return named{name: want.Context, server: config.Clusters[config.Contexts[want.Context].Cluster].Server, kubeconfig: data}, nil
}

func noContext(want string, contexts []string, searched, explicit string) error {
	if explicit != "" {
		searched = explicit
	}
	if len(contexts) == 0 {
		return &provider.Problem{Err: fmt.Errorf("there is no context in %s", searched), Hint: "kubectl config get-contexts"}
	}
	hint := "labctl up --provider existing --context " + contexts[0]
	if want == "" {
		return &provider.Problem{Err: fmt.Errorf("a cluster of your own is used only when it is named; the contexts are %s", strings.Join(contexts, ", ")), Hint: hint}
	}
	return &provider.Problem{Err: fmt.Errorf("there is no context %q; the contexts are %s", want, strings.Join(contexts, ", ")), Hint: hint}
}

// askLimit is for the whole of ask: the first request may run a plug-in for credentials.
const askLimit = 8 * time.Second

// ask returns the server's version. It fails with what to do about it within askLimit.
func ask(ctx context.Context, c named) (version string, err error) {
	file, err := clientcmd.Load(c.kubeconfig)
	if err != nil {
		return "", err
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return "", &provider.Problem{Err: fmt.Errorf("the context %s can't be used: %w", c.name, err), Hint: "kubectl config view"}
	}
	config.Timeout = requestLimit
	type answer struct {
		version string
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			answers <- answer{err: err}
			return
		}
		info, err := client.ServerVersion()
		if err != nil {
			answers <- answer{err: err}
			return
		}
		answers <- answer{version: info.GitVersion}
	}()
	select {
	case a := <-answers:
		return a.version, explain(c, a.err)
	case <-time.After(askLimit):
		return "", explain(c, fmt.Errorf("no answer within %s", askLimit))
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// explain says what to do about a cluster that refuses or does not answer.
func explain(c named, err error) error {
	if err == nil {
		return nil
	}
	hint := "kubectl --context " + c.name + " version"
	switch {
	case apierrors.IsUnauthorized(err):
		return &provider.Problem{Err: fmt.Errorf("%s refuses the credentials of context %s: they have expired or were never valid", c.server, c.name), Hint: "kubectl --context " + c.name + " auth whoami"}
	case strings.Contains(err.Error(), "getting credentials"):
		return &provider.Problem{Err: fmt.Errorf("the program that gives the credentials of context %s failed: %w", c.name, err), Hint: "kubectl --context " + c.name + " auth whoami"}
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return &provider.Problem{Err: fmt.Errorf("the server of context %s is not the one that its kubeconfig trusts: %w", c.name, err), Hint: hint}
	default:
		return &provider.Problem{Err: fmt.Errorf("the API server of context %s does not answer: %w", c.name, err), Hint: hint}
	}
}

// local reports whether a server is on this machine, as kind's and minikube's are: it may be changed without asking.
func local(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
