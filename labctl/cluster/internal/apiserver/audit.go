package apiserver

import (
	"fmt"
	"os"
)

// AuditPolicy asks for one line for each finished request on a Lease object but watches and lists: who asked, when it came
// in, when it was answered. It is what tells when a standby polled.
const AuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: None
    namespaces: [kube-system, kube-node-lease]
  - level: Metadata
    verbs: [get, create, update, patch, delete]
    resources: [{group: coordination.k8s.io, resources: [leases]}]
  - level: None
`

// auditMegabytes bounds the log: the file that is written, and one that was.
const auditMegabytes = 20

// writePolicy writes the policy for the flag that names it.
func writePolicy(path string) error {
	if err := os.WriteFile(path, []byte(AuditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return nil
}
