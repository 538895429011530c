package apiserver

import (
	"fmt"

	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Run serves until the process gets SIGTERM or SIGINT. The API server keeps its settings in package variables:
// Run may be called once in the life of a process.
func Run(cfg Config) error {
	if err := writePolicy(cfg.AuditPolicyFile); err != nil {
		return err
	}
	command := app.NewAPIServerCommand()
	command.SetArgs(Flags(cfg))
	command.SilenceErrors = true
	if err := command.Execute(); err != nil {
		return fmt.Errorf("serve the Kubernetes API: %w", err)
	}
	return nil
}
