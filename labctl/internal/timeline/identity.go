package timeline

import "strings"

// PodOf returns the pod's name, or its host's, in an identity: the convention of client-go's examples and of
// controller-runtime is name_uuid. A name holds no underscore, so nothing of it is lost.
func PodOf(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}

// Holds reports whether the identity in a Lease is the pod's: its name, or the hostname that its process sees, with or
// without a suffix.
func (p Pod) Holds(identity string) bool {
	name := PodOf(identity)
	return name != "" && (name == p.Name || name == p.Hostname)
}
