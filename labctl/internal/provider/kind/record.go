package kind

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/whole"
)

// record is kind.json, written when a cluster is complete: what Find tells without asking Docker.
type record struct {
	Schema      string `json:"schema"`
	Name        string `json:"name"` // of the lab
	Cluster     string `json:"cluster"`
	Server      string `json:"server"`
	Kubeconfig  string `json:"kubeconfig"`
	Kubernetes  string `json:"kubernetes"`
	Image       string `json:"image"`
	SharedClock bool   `json:"sharedClock"`
}

const recordSchema = "labctl-kind/v1"

func recordFile(state string) string { return filepath.Join(state, "kind.json") }

func readRecord(state string) (record, error) {
	data, err := os.ReadFile(recordFile(state))
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("read %s: %w", recordFile(state), err)
	}
	if r.Schema != recordSchema {
		return record{}, fmt.Errorf("%s has schema %q, want %s: it is of another version of labctl", recordFile(state), r.Schema, recordSchema)
	}
	if r.Cluster == "" || r.Server == "" || r.Kubeconfig == "" {
		return record{}, fmt.Errorf("%s is not whole", recordFile(state))
	}
	return r, nil
}

func (r record) write(state string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(recordFile(state), append(data, '\n'), 0o600)
}

func (r record) cluster(state string) provider.Cluster {
	return provider.Cluster{Name: r.Name, Provider: name, Server: r.Server, Kubeconfig: r.Kubeconfig, Kubernetes: r.Kubernetes,
		PodStartLatency: DefaultPodStartLatency, StateDir: state, SharedClock: r.SharedClock}
}
