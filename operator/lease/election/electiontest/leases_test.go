package electiontest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/lease/election/electiontest"
)

func lease(holder string, seconds int32) *coordinationv1.Lease {
	now := metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "l"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

func TestStoreRefusesWhatTheAPIServerRefuses(t *testing.T) {
	ctx := t.Context()
	store := new(electiontest.Store)
	c := store.Client().Leases("n")
	_, err := c.Get(ctx, "l", metav1.GetOptions{})
	want(t, "get of none", err, apierrors.IsNotFound)
	_, err = c.Create(ctx, lease("a", 0), metav1.CreateOptions{})
	want(t, "a duration of 0", err, apierrors.IsInvalid)
	first, err := c.Create(ctx, lease("a", 15), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(ctx, lease("b", 15), metav1.CreateOptions{})
	want(t, "a second create", err, apierrors.IsAlreadyExists)
	_, err = c.Update(ctx, lease("b", 15), metav1.UpdateOptions{})
	want(t, "an update without a version", err, apierrors.IsInvalid)
	second, err := c.Update(ctx, first, metav1.UpdateOptions{})
	if err != nil || second.ResourceVersion == first.ResourceVersion {
		t.Fatalf("got version %s after %s, %v, want a new one", second.ResourceVersion, first.ResourceVersion, err)
	}
	_, err = c.Update(ctx, first, metav1.UpdateOptions{})
	want(t, "an update of a stale version", err, apierrors.IsConflict)
	store.Remove("n", "l")
	_, err = c.Update(ctx, second, metav1.UpdateOptions{})
	want(t, "an update of a removed lease", err, apierrors.IsConflict)
	if _, err = c.Create(ctx, lease("b", 15), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.Update(ctx, second, metav1.UpdateOptions{})
	want(t, "an update of a lease that was made anew", err, apierrors.IsConflict)
	if n := len(store.Writes()); n != 4 {
		t.Errorf("got %d writes, want create, update, removal, create", n)
	}
}

func want(t *testing.T, what string, err error, is func(error) bool) {
	t.Helper()
	if !is(err) {
		t.Errorf("%s: got %v", what, err)
	}
}

func TestFaultsTouchOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		slow, quick := store.Client(), store.Client()
		slow.Set(electiontest.Fault{Request: time.Second, Response: time.Second})
		begin := time.Now()
		if _, err := slow.Leases("n").Create(t.Context(), lease("a", 15), metav1.CreateOptions{}); err != nil || time.Since(begin) != 2*time.Second {
			t.Errorf("got %v after %s, want an answer after 2s", err, time.Since(begin))
		}
		if at := store.Writes()[0].At.Sub(begin); at != time.Second {
			t.Errorf("committed after %s, want 1s: before the answer", at)
		}
		slow.Set(electiontest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := slow.Leases("n").Get(ctx, "l", metav1.GetOptions{}); err != context.DeadlineExceeded {
			t.Errorf("got %v from a hanging request, want the caller's deadline", err)
		}
		if _, err := quick.Leases("n").Get(t.Context(), "l", metav1.GetOptions{}); err != nil {
			t.Errorf("got %v from another client", err)
		}
	})
}
