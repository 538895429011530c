// Package existing is the provider that runs the lab on a cluster that is there already: in one namespace, with nothing
// outside of it, and only on a context that was named.
package existing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/operator/api"
)

// replacementStart is what a pod is taken to need from its creation to its process: it is not measured here. It shifts
// only who wins a race after a release, not whether a gap is in its band.
const replacementStart = time.Second

// requestLimit bounds each request, so that a server that can't be reached is told within ten seconds.
const requestLimit = 4 * time.Second

// Provider uses a cluster that somebody else runs.
type Provider struct{}

var (
	_ provider.Provider = Provider{}
	_ provider.Signaler = Provider{}
)

// Name is "existing".
func (Provider) Name() string { return "existing" }

// Available returns nil: what is needed is the cluster's, and Up asks it.
func (Provider) Available(context.Context) error { return nil }

// Find returns the cluster that Up was given, without asking it.
func (p Provider) Find(_ context.Context, name string) (provider.Cluster, error) {
	h, err := home.New(name)
	if err != nil {
		return provider.Cluster{}, err
	}
	r, err := readRecord(h)
	if errors.Is(err, os.ErrNotExist) {
		return provider.Cluster{}, &provider.Problem{Err: fmt.Errorf("%w (name %s)", provider.ErrNoLab, name), Hint: "labctl up"}
	}
	if err != nil {
		return provider.Cluster{}, &provider.Problem{Err: err, Hint: "rm -r " + h.State}
	}
	return r.cluster(h), nil
}

// Up checks the context, the namespace and the rights, writes down what it uses, and makes the namespace if it is not there.
func (p Provider) Up(ctx context.Context, spec provider.Spec) (provider.Cluster, error) {
	h, err := home.New(spec.Name)
	if err != nil {
		return provider.Cluster{}, err
	}
	release, err := home.Guard(ctx, h.Lock, func() { spec.Progress("another labctl is changing this lab; waiting for it") })
	if err != nil {
		return provider.Cluster{}, err
	}
	defer release()
	r, err := readRecord(h)
	fresh := errors.Is(err, os.ErrNotExist)
	switch {
	case fresh:
		if r, err = p.begin(ctx, spec, h); err != nil {
			return provider.Cluster{}, err
		}
	case err != nil:
		return provider.Cluster{}, &provider.Problem{Err: err, Hint: "rm -r " + h.State}
	default:
		if err := r.agrees(spec.Existing); err != nil {
			return provider.Cluster{}, err
		}
	}
	spec.Progress("asking " + r.Server)
	if err := p.prepare(ctx, h, r); err != nil {
		if fresh && !r.Made {
			h.Remove()
			h.Leave()
		}
		return provider.Cluster{}, err
	}
	cluster := r.cluster(h)
	cluster.Started = fresh
	return cluster, nil
}

// begin reads the context, asks whether the cluster may be changed, and writes the record and the kubeconfig.
func (p Provider) begin(ctx context.Context, spec provider.Spec, h home.Home) (*record, error) {
	want := spec.Existing
	if wrong := validation.IsDNS1123Label(want.Namespace); len(wrong) > 0 {
		return nil, &provider.Problem{Err: fmt.Errorf("%q is no name for a namespace: %s", want.Namespace, wrong[0]), Hint: "labctl up --provider existing --namespace " + DefaultNamespace}
	}
	context, err := isolate(want)
	if err != nil {
		return nil, err
	}
	if want.OperatorImage == "" {
		return nil, &provider.Problem{Err: errors.New("on a cluster of your own the operator's image must be one that its nodes can pull: --operator-image is not set"),
			Hint: "labctl image save academy-operator.tar"}
	}
	version, err := ask(ctx, context)
	if err != nil {
		return nil, err
	}
	if !local(context.server) {
		question := fmt.Sprintf("make namespace %s and an operator on %s (context %s)", want.Namespace, context.server, context.name)
		if err := want.Confirm(question); err != nil {
			return nil, err
		}
	}
	r := &record{Schema: recordSchema, Name: spec.Name, Context: context.name, Server: context.server, Kubernetes: version,
		Namespace: want.Namespace, Image: want.OperatorImage, Owner: newOwner()}
	if err := h.Claim(p.Name()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(h.State, kubeconfigFile), context.kubeconfig, 0o600); err != nil {
		return nil, fmt.Errorf("write the lab's kubeconfig: %w", err)
	}
	return r, r.write(h)
}

// prepare makes sure of the namespace and of the rights in it.
func (p Provider) prepare(ctx context.Context, h home.Home, r *record) error {
	client, err := r.client(h)
	if err != nil {
		return err
	}
	if err := r.ensureNamespace(ctx, client, h); err != nil {
		return err
	}
	return r.checkRights(ctx, client)
}

func (r *record) config(h home.Home) (*rest.Config, error) {
	config, err := provider.ReadConfig(filepath.Join(h.State, kubeconfigFile))
	if err != nil {
		return nil, &provider.Problem{Err: fmt.Errorf("read the lab's kubeconfig: %w", err), Hint: "labctl down"}
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "labctl"
	return config, nil
}

func (r *record) client(h home.Home) (kubernetes.Interface, error) {
	config, err := r.config(h)
	if err != nil {
		return nil, err
	}
	config.Timeout = requestLimit
	return kubernetes.NewForConfig(config)
}

// DefaultNamespace is where the lab goes if no other is named.
const DefaultNamespace = api.DefaultNamespace
