package kind

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/providertest"
)

// TestConformance runs the suite of every provider on this one. `make e2e-kind` asks for it; without Docker, or without
// the node image on this machine, it is skipped with the reason.
func TestConformance(t *testing.T) {
	if os.Getenv("LABCTL_E2E_KIND") == "" {
		t.Skip("make e2e-kind asks for it")
	}
	bin, err := filepath.Abs("../../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{BinDir: bin}
	image := os.Getenv("LABCTL_KIND_IMAGE")
	for _, f := range p.Examine(t.Context(), "", image) {
		if f.Err != nil {
			t.Skipf("skipped: kind can't run here: %v", f.Err)
		}
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Cleanup(func() {
		if _, err := p.Down(context.Background(), "conformance", func(string) {}); err != nil {
			t.Error(err)
		}
	})
	cluster, err := p.Up(t.Context(), provider.Spec{Name: "conformance", NodeImage: image, Progress: func(s string) { t.Log(s) },
		Images: map[string]string{providertest.ImageName: providertest.Subject(t)}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := cluster.Config()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("as administrator", func(t *testing.T) {
		providertest.Run(t, providertest.Place{Provider: p, Cluster: cluster, Config: config, Together: 2})
	})
	t.Run("as a student", func(t *testing.T) {
		providertest.RunAsStudent(t, providertest.Place{Config: config, Together: 2}, "../../../../docs")
	})
	testFaults(t, p, cluster, config)
}
