package main

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

func TestCallOf(t *testing.T) {
	for _, c := range []struct{ method, url, verb, resource, namespace string }{
		{"GET", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "get", "leases.coordination.k8s.io", "n"},
		{"POST", "/apis/coordination.k8s.io/v1/namespaces/n/leases", "create", "leases.coordination.k8s.io", "n"},
		{"PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", "update", "leases.coordination.k8s.io", "n"},
		{"GET", "/api/v1/namespaces/n/configmaps?labelSelector=x", "list", "configmaps", "n"},
		{"GET", "/api/v1/namespaces/n/configmaps?watch=true", "watch", "configmaps", "n"},
		{"GET", "/api/v1/namespaces/n/configmaps?watch=1", "watch", "configmaps", "n"},
		{"PATCH", "/api/v1/namespaces/n/configmaps/m", "patch", "configmaps", "n"},
		{"DELETE", "/api/v1/namespaces/n/configmaps/m", "delete", "configmaps", "n"},
		{"DELETE", "/api/v1/namespaces/n/configmaps", "deletecollection", "configmaps", "n"},
		{"PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", "update", "deployments/scale.apps", "n"},
		{"GET", "/api/v1/namespaces/n", "get", "namespaces", ""},
		{"GET", "/k8s/clusters/c1/api/v1/nodes", "list", "nodes", ""},
		{"GET", "/version", "get", "/version", ""},
	} {
		got := callOf(httptest.NewRequest(c.method, c.url, nil))
		if want := (call{c.verb, c.resource, c.namespace}); got != want {
			t.Errorf("%s %s: got %v, want %v", c.method, c.url, got, want)
		}
	}
}

// answers is a transport that gives one answer to all.
type answers struct {
	code int
	body string
	err  error
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.code, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const (
	ofRBAC = `{"kind":"Status","message":"leases.coordination.k8s.io \"academy-operator\" is forbidden: User \"system:serviceaccount:academy-build:academy-operator\" cannot update resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"academy-build\"","code":403}`
	// The same Status in protobuf: the sentence is bare, between bytes that are not text.
	ofRBACProtobuf = "k8s\x00\n\x0c\x12\xd2\x01leases.coordination.k8s.io \"l\" is forbidden: User \"jane\" cannot update resource \"leases\" in API group \"coordination.k8s.io\"\x1a\x09Forbidden"
	ofPolicy       = `{"kind":"Status","message":"leases.coordination.k8s.io \"academy-operator\" is forbidden: ValidatingAdmissionPolicy 'deny' with binding 'deny' denied request: not today","code":403}`
	leaseURL       = "/apis/coordination.k8s.io/v1/namespaces/academy-build/leases/academy-operator"
)

func TestTellForbidden(t *testing.T) {
	for name, c := range map[string]struct {
		answer answers
		want   map[string]any // nil: no line
	}{
		"by RBAC": {answers{code: 403, body: ofRBAC}, map[string]any{
			"level": "ERROR", "verb": "update", "resource": "leases.coordination.k8s.io", "namespace": "academy-build",
			"serviceAccount": "academy-build/academy-operator",
			"hint":           "add update to leases.coordination.k8s.io in Role academy-operator (manifests/rbac.yaml)",
		}},
		"in protobuf, another user": {answers{code: 403, body: ofRBACProtobuf}, map[string]any{
			"user": "jane", "hint": "add update to leases.coordination.k8s.io in Role academy-operator (manifests/rbac.yaml)",
		}},
		"by a policy": {answers{code: 403, body: ofPolicy}, map[string]any{"hint": nil, "reason": ofPolicy}},
		"no refusal":  {answers{code: 409, body: "conflict"}, nil},
		"no answer":   {answers{err: errors.New("no route")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(electiontest.Lines)
			transport := tellForbidden(slog.New(slog.NewJSONHandler(log, nil)))(c.answer)
			answer, err := transport.RoundTrip(httptest.NewRequest(http.MethodPut, leaseURL, nil))
			if err != c.answer.err {
				t.Fatalf("got %v, want %v", err, c.answer.err)
			}
			if err == nil {
				if body, err := io.ReadAll(answer.Body); string(body) != c.answer.body || err != nil {
					t.Errorf("got body %q, %v, want it unchanged", body, err)
				}
			}
			line := log.Last(api.MessageForbidden)
			if (line == nil) != (c.want == nil) {
				t.Fatalf("got line %v, want %v", line, c.want)
			}
			for key, want := range c.want {
				if line[key] != want {
					t.Errorf("%s: got %v, want %v", key, line[key], want)
				}
			}
		})
	}
}

func TestTellForbidden_TheSameRefusalIsToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(electiontest.Lines)
		transport := tellForbidden(slog.New(slog.NewJSONHandler(log, nil)))(answers{code: 403, body: ofRBAC})
		for range 30 {
			for _, method := range []string{http.MethodPut, http.MethodGet} {
				if _, err := transport.RoundTrip(httptest.NewRequest(method, leaseURL, nil)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := log.Count(api.MessageForbidden); n != 6 {
			t.Errorf("got %d lines in 3s, want 3 for each of two verbs", n)
		}
	})
}
