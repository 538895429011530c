package heartbeat

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Check gets the Lease once, live, and judges it by this process's clock at the moment of the answer. It needs the verb get
// on leases and no other.
//
// A Lease that does not exist is No: the server said so. Not being allowed to get it, and every other error, is Unknown.
func Check(ctx context.Context, leases client.LeasesGetter, namespace, name string) Reading {
	lease, err := leases.Leases(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return Judge(RecordOf(lease), time.Now())
	case apierrors.IsNotFound(err):
		return Reading{Verdict: No, Reason: fmt.Sprintf("Lease %s/%s does not exist", namespace, name)}
	case apierrors.IsForbidden(err):
		return Reading{Verdict: Unknown, Reason: fmt.Sprintf("may not get Lease %s/%s: %v", namespace, name, err)}
	default:
		return Reading{Verdict: Unknown, Reason: fmt.Sprintf("Lease %s/%s could not be read: %v", namespace, name, err)}
	}
}

// RecordOf returns what the rules look at in a Lease.
func RecordOf(lease *coordinationv1.Lease) Record {
	r := Record{LeaseDurationSeconds: lease.Spec.LeaseDurationSeconds}
	if lease.Spec.HolderIdentity != nil {
		r.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		r.RenewTime = lease.Spec.RenewTime.Time
	}
	return r
}
