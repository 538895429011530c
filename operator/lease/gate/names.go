package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Labels and annotations of the Leases. Labels of the owner and the cluster find them, the annotations say what for and since when.
const (
	LabelLease   = "captf.io/lease"   // LeaseRun or LeaseCluster
	LabelManaged = "captf.io/managed" // "true"
	LabelKind    = "captf.io/owner-kind"
	LabelName    = "captf.io/owner-name"
	LabelCluster = "captf.io/cluster-name"

	AnnotationOp       = "captf.io/lease-op"
	AnnotationAcquired = "captf.io/lease-acquired-at" // RFC 3339 with nanoseconds, by the writer's clock
)

// Values of LabelLease.
const (
	LeaseRun     = "run"     // one Job at a time for each object
	LeaseCluster = "cluster" // the write side of the operation gate, one for each cluster
)

// Kind is the kind of an object that operations are of.
type Kind string

// The kinds. A cluster is the writer of the gate, the others are its readers.
const (
	Cluster     Kind = "TerraformCluster"
	Machine     Kind = "TerraformMachine"
	MachinePool Kind = "TerraformMachinePool"
)

// Kinds returns all of them.
func Kinds() []Kind { return []Kind{Cluster, Machine, MachinePool} }

// short is how a kind begins the names of its Jobs.
func (k Kind) short() string {
	switch k {
	case Cluster:
		return "tfc"
	case MachinePool:
		return "tfp"
	default:
		return "tfm"
	}
}

// Op is what a Job does.
type Op string

// The operations.
const (
	Apply   Op = "apply"
	Destroy Op = "destroy"
	Restore Op = "restore"
	Plan    Op = "plan"
	Refresh Op = "refresh"
	Drift   Op = "drift"
)

// Ops returns all of them, the gated ones first.
func Ops() []Op { return []Op{Apply, Destroy, Restore, Plan, Refresh, Drift} }

// Gated reports whether the operation changes something, so that those of a cluster and of its machines must not overlap.
func (o Op) Gated() bool { return slices.Contains([]Op{Apply, Destroy, Restore}, o) }

// Condition is the type of the condition that tells how an operation of this kind went.
func (o Op) Condition() string {
	switch o {
	case Refresh, Drift:
		return "DriftJobSucceeded"
	case Restore:
		return "RestoreJobSucceeded"
	default:
		return "ApplyJobSucceeded"
	}
}

// Object is one object that operations are of.
type Object struct {
	Kind      Kind
	Namespace string
	Name      string
	// ClusterName is the cluster it belongs to, in the same namespace; a cluster's own name.
	ClusterName string
}

// Suffix is the object's state suffix: as long for one name as for any other.
func (o Object) Suffix() string { return digest(10, string(o.Kind), o.Namespace, o.Name) }

// RunLease is the name of the object's run lease.
func (o Object) RunLease() string { return "captf-run-" + o.Suffix() }

// ClusterLease is the name of the cluster lease of the object's cluster.
func (o Object) ClusterLease() string {
	return "captf-cluster-" + digest(16, o.Namespace+"/"+o.ClusterName)
}

// JobName is the name of the Job that does op with these inputs: known before the Job exists, and another one for other inputs.
func (o Object) JobName(op Op, inputs string) string {
	return o.Kind.short() + "-" + o.Suffix() + "-" + string(op) + "-" + digest(8, inputs)
}

// digest is the first digits of a hash of the words.
func digest(digits int, words ...string) string {
	h := sha256.New()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:digits]
}

// labelValue is a name as a label may hold it: one of more than 63 characters is cut, and told apart by a hash.
func labelValue(name string) string {
	const most = 63
	if len(name) <= most {
		return name
	}
	return name[:most-11] + "-" + digest(10, name)
}
