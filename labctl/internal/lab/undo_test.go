package lab

import (
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// An API server that is back too soon would find leaders that never gave up.
func TestOutage_OutlastsEveryLeader(t *testing.T) {
	for _, timing := range []api.Timing{api.Default(), api.Fast(), {LeaseDuration: 15 * time.Second, RenewDeadline: 13 * time.Second, RetryPeriod: time.Second}} {
		if lasts := outage(timing); lasts <= timing.LeaseDuration || lasts <= timing.RetryPeriod+2*timing.RenewDeadline {
			t.Errorf("%s: the outage lasts %s", timing, lasts)
		}
	}
}

func TestFits(t *testing.T) {
	slow := api.Timing{LeaseDuration: 45 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 5 * time.Second}
	for name, c := range map[string]struct {
		mode   fault.Mode
		lanes  int
		timing api.Timing
		want   string
	}{
		"an outage":                {fault.APIDown, 1, api.Default(), ""},
		"an outage of many lanes":  {fault.APIDown, 2, api.Default(), "every lane"},
		"an outage that must last": {fault.APIDown, 1, slow, "longer than 1m0s"},
		"a denial that must last":  {fault.Deny, 1, slow, "longer than 1m0s"},
		"a theft in lanes":         {fault.Steal, 2, slow, ""},
	} {
		d, _ := fault.Describe(c.mode)
		err := (&Lab{}).fits(d, Options{Lanes: c.lanes}, c.timing)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// bare is a place that can do nothing but what the Kubernetes API can.
type bare struct{ provider.Provider }

func (bare) Name() string { return "bare" }

func TestAble_RefusesWhatThePlaceCannotDo(t *testing.T) {
	l := &Lab{Provider: bare{}, Cluster: provider.Cluster{Provider: "bare"}}
	for _, m := range []fault.Mode{fault.Kill, fault.Freeze, fault.CutRefuse, fault.CutBlackHole, fault.Slow, fault.APIDown} {
		err := l.able(t.Context(), Options{Modes: []fault.Mode{m}}, api.Default())
		var problem *provider.Problem
		if !errors.As(err, &problem) || !strings.Contains(err.Error(), "on bare nothing can do "+string(m)) || problem.Hint != "labctl failover --mode graceful" {
			t.Errorf("%s: got %v", m, err)
		}
	}
	if err := l.able(t.Context(), Options{Modes: []fault.Mode{fault.Graceful}}, api.Default()); err != nil {
		t.Errorf("graceful: %v", err)
	}
}

func TestSucceeded_RefusesToSilenceTheOnlyReplica(t *testing.T) {
	for _, d := range fault.Modes() {
		if err := (&Lab{}).succeeded([]fault.Mode{d.Mode}, 1); (err != nil) != d.Silences {
			t.Errorf("%s of one replica: got %v", d.Mode, err)
		}
		if err := (&Lab{}).succeeded([]fault.Mode{d.Mode}, 2); err != nil {
			t.Errorf("%s of two: got %v", d.Mode, err)
		}
	}
}

// A process must not stay silent until a kubelet restarts it, or a node is given up: seven probes ten seconds apart, and 40 s.
func TestFits_TheLongestSilenceIsShorterThanTheLivenessOfTheManifest(t *testing.T) {
	if fault.LongestSilence >= 70*time.Second {
		t.Errorf("%s", fault.LongestSilence)
	}
	d, _ := fault.Describe(fault.Slow)
	if lasting(d, api.Default()) != silence(api.Default())+api.Default().RetryPeriod {
		t.Errorf("slow lasts %s: its one more renewal is not counted", lasting(d, api.Default()))
	}
}

// allowing answers every question for a right.
func allowing(client *fake.Clientset, allowed bool) {
	client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}}, nil
	})
}

func TestPermitted(t *testing.T) {
	client := fake.NewClientset()
	l := &Lab{Client: client, Deployment: replica.Deployment{Client: client, Namespace: "n", Name: "d"}}
	allowing(client, false)
	for mode, want := range map[fault.Mode]string{fault.Graceful: "", fault.Rollout: "patch deployments", fault.Evict: "create pods/eviction", fault.Steal: "update leases", fault.DeleteLease: "delete leases"} {
		err := l.permitted(t.Context(), mode)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", mode, err, want)
		}
	}
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "admissionregistration.k8s.io/v1"}}
	var problem *provider.Problem
	if err := l.permitted(t.Context(), fault.Deny); !errors.As(err, &problem) || !strings.Contains(err.Error(), "knows no ValidatingAdmissionPolicy") {
		t.Errorf("a server without policies: got %v", err)
	}
	client.Resources[0].APIResources = []metav1.APIResource{{Name: "validatingadmissionpolicies"}}
	if err := l.permitted(t.Context(), fault.Deny); err == nil || !strings.Contains(err.Error(), "create validatingadmissionpolicies") {
		t.Errorf("without the right: got %v", err)
	}
	allowing(client, true)
	if err := l.permitted(t.Context(), fault.Deny); err != nil {
		t.Errorf("with the right: got %v", err)
	}
}

// What a labctl that was killed left is removed, and said; what one at work has made is left alone.
func TestTidy(t *testing.T) {
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "labctl-deny-n-p", Labels: map[string]string{"academy.example/fault": "deny"}}}
	client := fake.NewClientset(policy)
	l := &Lab{Client: client, Cluster: provider.Cluster{StateDir: t.TempDir()}, Deployment: replica.Deployment{Client: client, Namespace: "n"}}
	release, err := alone(l.Cluster, "measuring")
	if err != nil {
		t.Fatal(err)
	}
	said := l.Tidy(t.Context())
	if left, _ := l.Deployment.Left(t.Context()); len(left) != 1 || said != "" {
		t.Errorf("while another is at work: left %v, said %q", left, said)
	}
	release()
	said = l.Tidy(t.Context())
	if left, _ := l.Deployment.Left(t.Context()); len(left) != 0 || !strings.Contains(said, "labctl-deny-n-p") {
		t.Errorf("left %v, said %q", left, said)
	}
	if said = l.Tidy(t.Context()); said != "" {
		t.Errorf("said again: %q", said)
	}
}

func TestView_Replaced(t *testing.T) {
	v := newView(byLogs)
	see := func(kind timeline.Kind, name string, ready bool) {
		v.on(timeline.Event{Kind: kind, Pod: &timeline.Pod{Name: name, UID: name, Ready: ready}})
	}
	old := scene{holder: timeline.Pod{UID: "a"}, standbys: []timeline.Pod{{UID: "b"}}}
	want := func(what string, wanted bool) {
		t.Helper()
		if v.replaced(old, 2) != wanted {
			t.Errorf("%s: replaced is %t", what, !wanted)
		}
	}
	see(timeline.PodSeen, "a", true)
	see(timeline.PodSeen, "b", true)
	want("before it", false)
	see(timeline.PodSeen, "c", true)
	see(timeline.PodGone, "a", false)
	see(timeline.PodSeen, "d", false)
	see(timeline.PodGone, "b", false)
	v.on(timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "b"}})
	want("a new one is not ready", false)
	see(timeline.PodSeen, "d", true)
	want("an old one holds the Lease", false)
	v.on(timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "d"}})
	want("after it", true)
}
