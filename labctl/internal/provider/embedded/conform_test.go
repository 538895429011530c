package embedded

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/providertest"
)

// TestConformance runs the suite of every provider on this one. It needs the built programs.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the embedded cluster")
	}
	bin, err := filepath.Abs("../../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "academy-cluster")); err != nil {
		t.Fatalf("%v; run make build", err)
	}
	folders(t)
	p := Provider{BinDir: bin}
	cluster, err := p.Up(t.Context(), provider.Spec{Name: "conformance", PodStartLatency: DefaultPodStartLatency,
		Images: map[string]string{providertest.ImageName: providertest.Subject(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := p.Down(context.Background(), "conformance", func(string) {}); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.Config()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("as administrator", func(t *testing.T) {
		providertest.Run(t, providertest.Place{Provider: p, Cluster: cluster, Config: config})
	})
	t.Run("as a student", func(t *testing.T) {
		providertest.RunAsStudent(t, providertest.Place{Config: config}, "../../../../docs")
	})
}
