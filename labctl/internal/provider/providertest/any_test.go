package providertest

import (
	"os"
	"testing"

	"academy.example/lab/labctl/internal/provider"
)

// TestAnyCluster runs the suite on the cluster of a kubeconfig, by the API alone. Its nodes must have the subject's image.
func TestAnyCluster(t *testing.T) {
	path := os.Getenv("PROVIDERTEST_KUBECONFIG")
	if path == "" {
		t.Skip("PROVIDERTEST_KUBECONFIG names no cluster; PROVIDERTEST_IMAGE names the subject's image there")
	}
	config, err := provider.ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, Place{Config: config, Image: os.Getenv("PROVIDERTEST_IMAGE"), Namespace: os.Getenv("PROVIDERTEST_NAMESPACE")})
}
