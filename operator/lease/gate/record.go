package gate

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Record is what a lease of either type says.
type Record struct {
	Name string
	Type string // LeaseRun or LeaseCluster
	// Owner is whose operation took it; a name of more than 63 characters is cut as the label holds it.
	Owner Object
	Op    Op
	// Holder is the name of the Job that is about to be created, or was; "" is free.
	Holder   string
	Acquired time.Time // by the clock of the manager that took or refreshed it
	Backstop time.Duration

	// UID and Version are what the API server said when it was read: each write and each deletion names them.
	UID     types.UID
	Version string
}

// Lease is the record as an object of the API.
func (r Record) Lease() *coordinationv1.Lease {
	at := metav1.NewMicroTime(r.Acquired)
	seconds := int32(r.Backstop / time.Second)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, Namespace: r.Owner.Namespace, UID: r.UID, ResourceVersion: r.Version,
			Labels: map[string]string{
				LabelLease: r.Type, LabelManaged: "true", LabelKind: string(r.Owner.Kind),
				LabelName: labelValue(r.Owner.Name), LabelCluster: labelValue(r.Owner.ClusterName),
			},
			Annotations: map[string]string{AnnotationOp: string(r.Op), AnnotationAcquired: r.Acquired.UTC().Format(time.RFC3339Nano)},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &r.Holder, LeaseDurationSeconds: &seconds, AcquireTime: &at, RenewTime: &at},
	}
}

// RecordOf reads a Lease. One whose moment can't be read counts as taken in the year 1: it is over its backstop, and free.
func RecordOf(lease *coordinationv1.Lease) Record {
	r := Record{
		Name: lease.Name, Type: lease.Labels[LabelLease], Op: Op(lease.Annotations[AnnotationOp]), UID: lease.UID, Version: lease.ResourceVersion,
		Owner: Object{Kind: Kind(lease.Labels[LabelKind]), Namespace: lease.Namespace, Name: lease.Labels[LabelName], ClusterName: lease.Labels[LabelCluster]},
	}
	if lease.Spec.HolderIdentity != nil {
		r.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.LeaseDurationSeconds != nil {
		r.Backstop = time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	}
	if at, err := time.Parse(time.RFC3339Nano, lease.Annotations[AnnotationAcquired]); err == nil {
		r.Acquired = at
	}
	return r
}

// Operation is one Job that is wanted.
type Operation struct {
	Object Object
	Op     Op
	Job    string // its name, by Object.JobName
	// Deadline is the Job's activeDeadlineSeconds.
	Deadline time.Duration
}

// gated reports whether the operation takes part in the gate.
func (o Operation) gated() bool { return o.Op.Gated() }

// record is the lease of that type as the operation takes it now.
func (o Operation) record(kind string, now time.Time) Record {
	name := o.Object.RunLease()
	if kind == LeaseCluster {
		name = o.Object.ClusterLease()
	}
	return Record{Name: name, Type: kind, Owner: o.Object, Op: o.Op, Holder: o.Job, Acquired: now, Backstop: Backstop(o.Deadline)}
}

// String names the operation for people.
func (o Operation) String() string {
	return fmt.Sprintf("%s of %s %s", o.Op, o.Object.Kind, o.Object.Name)
}
