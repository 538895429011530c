package gatetest_test

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"academy.example/lab/operator/lease/gate/gatetest"
)

// The same refusals as operator/lease/election/electiontest has, and those of a deletion.
func TestStore_RefusesWhatTheAPIServerRefuses(t *testing.T) {
	ctx, store := t.Context(), new(gatetest.Store)
	client, err := coordinationclient.NewForConfig(store.Config())
	if err != nil {
		t.Fatal(err)
	}
	leases := client.Leases("n")
	lease := func(seconds int32, label string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", Labels: map[string]string{"l": label}}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds}}
	}
	want := func(what string, err error, is func(error) bool) {
		t.Helper()
		if !is(err) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err = leases.Get(ctx, "l", metav1.GetOptions{})
	want("get of none", err, apierrors.IsNotFound)
	_, err = leases.Create(ctx, lease(0, "a"), metav1.CreateOptions{})
	want("a duration of 0", err, apierrors.IsInvalid)
	_, err = leases.Create(ctx, lease(9, strings.Repeat("a", 64)), metav1.CreateOptions{})
	want("a label of 64 characters", err, apierrors.IsInvalid)
	first, err := leases.Create(ctx, lease(9, "a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = leases.Create(ctx, lease(9, "a"), metav1.CreateOptions{})
	want("a second create", err, apierrors.IsAlreadyExists)
	_, err = leases.Create(ctx, first, metav1.CreateOptions{})
	want("a create with a version", err, apierrors.IsBadRequest)
	_, err = leases.Update(ctx, lease(9, "a"), metav1.UpdateOptions{})
	want("an update without a version", err, apierrors.IsInvalid)
	second, err := leases.Update(ctx, first, metav1.UpdateOptions{})
	if err != nil || second.ResourceVersion == first.ResourceVersion {
		t.Fatalf("got version %s after %s, %v", second.ResourceVersion, first.ResourceVersion, err)
	}
	_, err = leases.Update(ctx, first, metav1.UpdateOptions{})
	want("an update of a stale version", err, apierrors.IsConflict)
	remove := func(uid types.UID, version string) error {
		return leases.Delete(ctx, "l", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	}
	want("a deletion of a stale version", remove(second.UID, first.ResourceVersion), apierrors.IsConflict)
	want("a deletion of another UID", remove("other", second.ResourceVersion), apierrors.IsConflict)
	if err := remove(second.UID, second.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	want("a deletion of none", remove(second.UID, second.ResourceVersion), apierrors.IsNotFound)
	_, err = leases.Update(ctx, second, metav1.UpdateOptions{})
	want("an update of a removed lease", err, apierrors.IsConflict)
}
