package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
)

// group is one client with its own rate limit: core for the work objects, coordination for Leases.
type group struct {
	core         corev1.CoreV1Interface
	coordination coordinationv1.CoordinationV1Interface
}

// clients are two, so that busy work never makes a renewal wait in a shared rate limiter.
type clients struct {
	lock, work group
	candidate  kubernetes.Interface // of the coordinated election, else nil
}

// connect makes the clients. It sends no request.
func connect(o options, getenv func(string) string, log *slog.Logger) (clients, error) {
	config, err := restConfig(o.kubeconfig, getenv)
	if err != nil {
		return clients{}, err
	}
	config.Wrap(tellForbidden(log))

	// The course takes the configuration as it is. It sets no time-out: a request for the Lease ends with the deadline
	// around it, and a standby's attempts have none. The guarded election bounds each request itself.
	lock := rest.CopyConfig(config)
	lock.UserAgent = api.Program + "/lock"

	// A tick every 100 ms reads and writes one object, and client-go's own limit is 5 requests a second.
	work := rest.CopyConfig(config)
	work.UserAgent = api.Program + "/work"
	work.QPS, work.Burst = 100, 200
	if o.election == api.ElectionGuarded {
		work.Wrap(gated)
	}
	if o.election == api.ElectionGuarded && !o.guards.Client {
		work.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(work.QPS, work.Burst) // or each API group would get one of its own
	}

	var c clients
	if c.lock, err = newGroup(lock); err != nil {
		return clients{}, err
	}
	if c.work, err = newGroup(work); err != nil {
		return clients{}, err
	}
	if o.election == api.ElectionGuarded && !o.guards.Client {
		c.lock = c.work
	}
	if o.election == api.ElectionCoordinated {
		if c.candidate, err = kubernetes.NewForConfig(lock); err != nil {
			return clients{}, fmt.Errorf("make client: %w", err)
		}
	}
	return c, nil
}

// gated returns a transport that sends no write of a leadership that is over: the last look at the clock before a request
// leaves, after any wait in a rate limiter.
func gated(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			if err := election.May(r.Context()); err != nil {
				return nil, fmt.Errorf("not sent: %w", err)
			}
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newGroup(config *rest.Config) (group, error) {
	core, err := corev1.NewForConfig(config)
	if err != nil {
		return group{}, fmt.Errorf("make client: %w", err)
	}
	coordination, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return group{}, fmt.Errorf("make client: %w", err)
	}
	return group{core, coordination}, nil
}

// restConfig finds the API server: --kubeconfig, then KUBECONFIG, then the service account of the pod.
func restConfig(kubeconfig string, getenv func(string) string) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	if kubeconfig == "" {
		rules.Precedence = filepath.SplitList(getenv(clientcmd.RecommendedConfigPathEnvVar))
	}
	hint := fmt.Sprintf("--%s=FILE, or: export KUBECONFIG=\"$(labctl kubeconfig)\"", api.FlagKubeconfig)
	if kubeconfig == "" && len(rules.Precedence) == 0 {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, api.Problem{What: "no kubeconfig is named, and this is not a pod with a service account", Hint: hint}
		}
		if err != nil {
			return nil, api.Problem{What: fmt.Sprintf("read service account: %v", err), Hint: hint}
		}
		return config, nil
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, api.Problem{What: fmt.Sprintf("read kubeconfig: %v", err), Hint: hint}
	}
	return config, nil
}
