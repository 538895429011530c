// Package manifests holds the operator's Kubernetes objects, the same files for `kubectl apply -k manifests` and for labctl.
package manifests

import "embed"

// FS holds every YAML file of this folder and of gate/. kustomization.yaml lists the others in the order to apply them.
//
//go:embed *.yaml gate/*.yaml
var FS embed.FS
