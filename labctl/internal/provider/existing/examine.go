package existing

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
)

// Examine looks at the cluster of the lab of that name, if there is one: of a cluster that was not named nothing is asked.
func (p Provider) Examine(ctx context.Context, name, _ string) []provider.Finding {
	h, err := home.New(name)
	if err != nil {
		return []provider.Finding{{Name: "context", Err: err}}
	}
	r, err := readRecord(h)
	if errors.Is(err, os.ErrNotExist) {
		return []provider.Finding{{Name: "context", Good: "none is in use"}}
	}
	if err != nil {
		return []provider.Finding{{Name: "context", Err: &provider.Problem{Err: err, Hint: "rm -r " + h.State}}}
	}
	kubeconfig, err := os.ReadFile(filepath.Join(h.State, kubeconfigFile))
	if err != nil {
		return []provider.Finding{{Name: "context", Err: err}}
	}
	version, err := ask(ctx, named{name: r.Context, server: r.Server, kubeconfig: kubeconfig})
	findings := []provider.Finding{{Name: "context", Good: r.Context + " answers: Kubernetes " + version, Err: err}}
	if err != nil {
		return findings
	}
	client, err := r.client(h)
	if err == nil {
		err = r.checkRights(ctx, client)
	}
	return append(findings, provider.Finding{Name: "rights", Good: "all that labctl does in namespace " + r.Namespace + " is allowed", Err: err})
}
