package heartbeat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"academy.example/lab/operator/lease/election/electiontest"
	"academy.example/lab/operator/lease/heartbeat"
)

const namespace, name = "dispatch-system", "dispatch-admission"

func ptr[T any](v T) *T { return &v }

// renewed makes a record of 15 s that was renewed so long before now.
func renewed(ago time.Duration) heartbeat.Record {
	return heartbeat.Record{Holder: "a", RenewTime: time.Now().Add(-ago), LeaseDurationSeconds: ptr(int32(15))}
}

// TestJudge_RulesInOrderWithTheirWords holds the golden strings, and that the first rule that fails is the one that is told.
func TestJudge_RulesInOrderWithTheirWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, c := range []struct {
			what   string
			record heartbeat.Record
			want   string // "" for yes
		}{
			{"a live leader", renewed(time.Second), ""},
			{"nothing at all", heartbeat.Record{}, "the admission controller's Lease has no holder"},
			{"released: no holder, one second, renewed just now", heartbeat.Record{RenewTime: now, LeaseDurationSeconds: ptr(int32(1))}, "the admission controller's Lease has no holder"},
			{"released long ago: the first rule, not the third", heartbeat.Record{RenewTime: now.Add(-time.Hour), LeaseDurationSeconds: ptr(int32(1))}, "the admission controller's Lease has no holder"},
			{"a holder that never renewed", heartbeat.Record{Holder: "a", LeaseDurationSeconds: ptr(int32(15))}, "the admission controller's Lease has never been renewed"},
			{"no duration, though renewed just now", heartbeat.Record{Holder: "a", RenewTime: now}, "the admission controller's Lease has never been renewed"},
			{"no duration, renewed long ago", heartbeat.Record{Holder: "a", RenewTime: now.Add(-time.Hour)}, "the admission controller's Lease has never been renewed"},
			{"stale", renewed(31 * time.Second), "the admission controller's Lease was last renewed 31s ago, beyond 30s"},
			{"stale for longer", renewed(61*time.Minute + 500*time.Millisecond), "the admission controller's Lease was last renewed 1h1m0.5s ago, beyond 30s"},
			{"renewed in the year 1", heartbeat.Record{Holder: "a", RenewTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), LeaseDurationSeconds: ptr(int32(15))}, "the admission controller's Lease was last renewed more than 292 years ago, beyond 30s"},
		} {
			got := heartbeat.Judge(c.record, now)
			want := heartbeat.No
			if c.want == "" {
				want = heartbeat.Yes
			}
			if got.Verdict != want || got.Reason != c.want {
				t.Errorf("%s: got %s %q, want %s %q", c.what, got.Verdict, got.Reason, want, c.want)
			}
		}
	})
}

// TestJudge_TwiceTheDurationPassesAndNoMore waits, in virtual time, up to the boundary and over it.
func TestJudge_TwiceTheDurationPassesAndNoMore(t *testing.T) {
	for _, c := range []struct {
		duration int32
		ago      time.Duration
		want     string
	}{
		{15, 0, ""},
		{15, 29999 * time.Millisecond, ""},
		{15, 30 * time.Second, ""},
		{15, 30*time.Second + time.Microsecond, "the admission controller's Lease was last renewed 30.001s ago, beyond 30s"},
		{15, 30001 * time.Millisecond, "the admission controller's Lease was last renewed 30.001s ago, beyond 30s"},
		{5, 10 * time.Second, ""},
		{5, 10001 * time.Millisecond, "the admission controller's Lease was last renewed 10.001s ago, beyond 10s"},
		{60, 2 * time.Minute, ""},
		{60, 2*time.Minute + time.Millisecond, "the admission controller's Lease was last renewed 2m0.001s ago, beyond 2m0s"},
		{2147483647, 100 * 365 * 24 * time.Hour, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := new(electiontest.Store)
			write(t, store, coordinationv1.LeaseSpec{HolderIdentity: ptr("a"), RenewTime: ptr(metav1.NowMicro()), LeaseDurationSeconds: &c.duration})
			time.Sleep(c.ago)
			got := heartbeat.Check(t.Context(), store.Client(), namespace, name)
			if got.Reason != c.want || (got.Verdict == heartbeat.Yes) != (c.want == "") {
				t.Errorf("%d s, renewed %s ago: got %s %q, want %q", c.duration, c.ago, got.Verdict, got.Reason, c.want)
			}
			if *got.Age != c.ago || *got.Limit != 2*time.Duration(c.duration)*time.Second {
				t.Errorf("%d s, renewed %s ago: got age %s of %s", c.duration, c.ago, *got.Age, *got.Limit)
			}
		})
	}
}

func write(t *testing.T, store *electiontest.Store, spec coordinationv1.LeaseSpec) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	if _, err := store.Client().Leases(namespace).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestJudge_ComparesTwoClocks: the value of renewTime decides here, which client-go's election never looks at.
func TestJudge_ComparesTwoClocks(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what  string
		ahead time.Duration // of the reader's clock
		age   time.Duration // true age of the renewal
		want  heartbeat.Verdict
	}{
		{"reader ahead by more than the window: a healthy leader is never heard", 30001 * time.Millisecond, 0, heartbeat.No},
		{"reader 29 s ahead: heard just after a renewal", 29 * time.Second, 500 * time.Millisecond, heartbeat.Yes},
		{"reader 29 s ahead: not heard just before the next", 29 * time.Second, 1500 * time.Millisecond, heartbeat.No},
		{"reader 28 s ahead: a healthy leader is always heard", 28 * time.Second, 2 * time.Second, heartbeat.Yes},
		{"reader 20 s behind: a leader dead for 50 s still passes", -20 * time.Second, 50 * time.Second, heartbeat.Yes},
		{"reader 20 s behind: noticed 20 s late", -20 * time.Second, 50001 * time.Millisecond, heartbeat.No},
		{"renewTime in the future", 0, -time.Hour, heartbeat.Yes},
	} {
		r := heartbeat.Record{Holder: "a", RenewTime: now.Add(-c.age), LeaseDurationSeconds: ptr(int32(15))}
		if got := heartbeat.Judge(r, now.Add(c.ahead)); got.Verdict != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.what, got.Verdict, got.Reason, c.want)
		}
	}
}

// TestCheck_TellsForbiddenFromMissing: 404 is an answer about the Lease, 403 and the rest are none.
func TestCheck_TellsForbiddenFromMissing(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	store := new(electiontest.Store)
	for _, c := range []struct {
		what    string
		refuse  error
		verdict heartbeat.Verdict
		reason  string // of an unknown one, a part
	}{
		{"missing", nil, heartbeat.No, "Lease dispatch-system/dispatch-admission does not exist"},
		{"forbidden", apierrors.NewForbidden(leases, name, errors.New("no RBAC")), heartbeat.Unknown, "may not get Lease dispatch-system/dispatch-admission: "},
		{"unauthorized", apierrors.NewUnauthorized("expired"), heartbeat.Unknown, "could not be read: expired"},
		{"5xx", apierrors.NewInternalError(errors.New("etcd")), heartbeat.Unknown, "could not be read: "},
		{"time-out", context.DeadlineExceeded, heartbeat.Unknown, "could not be read: context deadline exceeded"},
	} {
		reader := store.Client()
		reader.Set(electiontest.Fault{Refuse: c.refuse})
		got := heartbeat.Check(t.Context(), reader, namespace, name)
		if got.Verdict != c.verdict || !strings.Contains(got.Reason, c.reason) || got.Verdict == heartbeat.No && got.Reason != c.reason {
			t.Errorf("%s: got %s %q, want %s %q", c.what, got.Verdict, got.Reason, c.verdict, c.reason)
		}
		if got.Record != nil || got.Age != nil || got.Limit != nil {
			t.Errorf("%s: got a record of a Lease that was not read: %+v", c.what, got)
		}
	}
}

// getOnly is a cluster in which the user has the verb get on leases in one namespace and no other: everything else panics.
type getOnly struct {
	client.LeaseInterface
	asked []string
}

func (g *getOnly) Leases(namespace string) client.LeaseInterface {
	g.asked = append(g.asked, namespace)
	return g
}

func (g *getOnly) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	g.asked = append(g.asked, name)
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr("a"), RenewTime: ptr(metav1.NowMicro()), LeaseDurationSeconds: ptr(int32(15))}}, nil
}

// TestCheck_AsksForGetAndNothingElse: one request, for the Lease that was named.
func TestCheck_AsksForGetAndNothingElse(t *testing.T) {
	var g getOnly
	if got := heartbeat.Check(t.Context(), &g, namespace, name); got.Verdict != heartbeat.Yes {
		t.Errorf("got %s %q, want yes", got.Verdict, got.Reason)
	}
	if len(g.asked) != 2 || g.asked[0] != namespace || g.asked[1] != name {
		t.Errorf("asked for %v, want %s/%s once", g.asked, namespace, name)
	}
}
