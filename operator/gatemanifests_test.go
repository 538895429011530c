package main

import (
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/internal/terraform"
	"academy.example/lab/operator/lease/gate"
)

func TestGateManifests_TheRoleHoldsWhatTheGateNeedsAndNoMore(t *testing.T) {
	var role rbacv1.Role
	load(t, "gate/rbac.yaml", 1, &role)
	kinds, statuses := []string{}, []string{}
	for _, k := range gate.Kinds() {
		kinds, statuses = append(kinds, terraform.Resource(k).Resource), append(statuses, terraform.Resource(k).Resource+"/status")
	}
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "create", "update", "delete"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch", "create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
		{APIGroups: []string{terraform.Group}, Resources: kinds, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{terraform.Group}, Resources: statuses, Verbs: []string{"update"}},
	}
	if !reflect.DeepEqual(role.Rules, want) {
		t.Errorf("got  %v\nwant %v", role.Rules, want)
	}
	if role.Name != api.GateName {
		t.Errorf("got Role %s, want one of its own", role.Name)
	}
}

func TestGateManifests_TheKindsAndOperationsAreThoseOfTheGate(t *testing.T) {
	text, err := fs.ReadFile(manifests.FS, "gate/crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range gate.Kinds() {
		document := strings.Split(string(text), "\n---\n")[i]
		for _, want := range []string{"kind: " + string(k) + "\n", "plural: " + terraform.Resource(k).Resource + "\n"} {
			if !strings.Contains(document, want) {
				t.Errorf("document %d does not have %q", i, want)
			}
		}
		for _, op := range gate.Ops() {
			if !strings.Contains(document, `"`+string(op)+`"`) {
				t.Errorf("%s does not take %s", k, op)
			}
		}
	}
}

func TestGateManifests_TheManagerTakesItsArguments(t *testing.T) {
	var d appsv1.Deployment
	load(t, "gate/deployment.yaml", 0, &d)
	args := d.Spec.Template.Spec.Containers[0].Args
	if args[0] != api.GateCommand || d.Name != api.GateName {
		t.Fatalf("got %s with %v", d.Name, args)
	}
	o, err := parseGate(args[1:], func(string) string { return "" }, io.Discard)
	if err != nil || !o.gated || o.lock.Name != api.GateName || !slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--"+api.FlagClusterGate+"=true") {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestGate_MistakesAreReportedTogether(t *testing.T) {
	got := try(t, nil, api.GateCommand, "--pause-before-job=40s", "--leader-elect-lease-duration=500ms", "now")
	for _, want := range []string{`error: argument "now" is not understood`, "error: --pause-before-job=40s is not between 0 and 30s, after which a pass ends", "hint: --pause-before-job=5s", "LeaseDuration", "no kubeconfig is named"} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant %q in it", got, want)
		}
	}
}
