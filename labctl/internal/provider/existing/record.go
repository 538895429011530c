package existing

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/home"
	"academy.example/lab/labctl/internal/whole"
)

const (
	recordSchema   = "labctl-existing/v1"
	recordFile     = "existing.json"
	kubeconfigFile = "kubeconfig"
)

// record is existing.json: what Up was given and what it made.
type record struct {
	Schema     string `json:"schema"`
	Name       string `json:"name"`
	Context    string `json:"context"`
	Server     string `json:"server"`
	Kubernetes string `json:"kubernetes"`
	Namespace  string `json:"namespace"`
	Image      string `json:"operatorImage"`
	// Owner marks the namespace, so that another's of the same name is told apart.
	Owner string `json:"owner"`
	// Made is whether labctl made the namespace, and so removes it.
	Made bool `json:"madeNamespace"`
}

func newOwner() string { return rand.Text() }

func readRecord(h home.Home) (*record, error) {
	name := filepath.Join(h.State, recordFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if r.Schema != recordSchema || r.Namespace == "" || r.Owner == "" {
		return nil, fmt.Errorf("%s is not whole, or of another version (schema %q)", name, r.Schema)
	}
	return &r, nil
}

// write replaces the record in one step.
func (r *record) write(h home.Home) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := whole.Write(filepath.Join(h.State, recordFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write down the lab: %w", err)
	}
	return nil
}

func (r *record) cluster(h home.Home) provider.Cluster {
	return provider.Cluster{Name: r.Name, Provider: "existing", Server: r.Server, Kubeconfig: filepath.Join(h.State, kubeconfigFile),
		Kubernetes: r.Kubernetes, Namespace: r.Namespace, OperatorImage: r.Image, PodStartLatency: replacementStart, StateDir: h.State}
}

// agrees refuses to move a lab that is up to another place.
func (r *record) agrees(want provider.Existing) error {
	for _, f := range []struct{ flag, want, has string }{
		{"--context", want.Context, r.Context},
		{"--operator-image", want.OperatorImage, r.Image},
	} {
		if f.want != "" && f.want != f.has {
			return &provider.Problem{Err: fmt.Errorf("the lab %s is up with %s %s, not %s", r.Name, f.flag, f.has, f.want), Hint: "labctl down"}
		}
	}
	if want.NamespaceGiven && want.Namespace != r.Namespace {
		return &provider.Problem{Err: errors.New("the lab " + r.Name + " is up in namespace " + r.Namespace), Hint: "labctl down"}
	}
	return nil
}
