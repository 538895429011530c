package main

import (
	"bytes"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

// load reads one document of a manifest into object and refuses fields it does not know.
func load(t *testing.T, file string, document int, object any) {
	t.Helper()
	text, err := fs.ReadFile(manifests.FS, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(bytes.Split(text, []byte("\n---\n"))[document], object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestManifests_KustomizationListsEachFile(t *testing.T) {
	var kustomization struct {
		APIVersion, Kind string
		Resources        []string
	}
	load(t, "kustomization.yaml", 0, &kustomization)
	files, err := fs.Glob(manifests.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(files, func(f string) bool { return f == "kustomization.yaml" })
	got := slices.Sorted(slices.Values(kustomization.Resources))
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want each file of the folder: %v", got, want)
	}
}

func TestManifests_TheRoleHoldsWhatTheLockAndTheWorkNeedAndNoMore(t *testing.T) {
	var account corev1.ServiceAccount
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	load(t, "rbac.yaml", 0, &account)
	load(t, "rbac.yaml", 1, &role)
	load(t, "rbac.yaml", 2, &binding)
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "update"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leasecandidates"}, Verbs: []string{"list", "watch", "create", "update"}},
	}
	if !reflect.DeepEqual(role.Rules, want) {
		t.Errorf("got %v, want %v", role.Rules, want)
	}
	for _, name := range []string{account.Name, role.Name, binding.Name, binding.RoleRef.Name, binding.Subjects[0].Name} {
		if name != api.DefaultName {
			t.Errorf("got name %q, want %q", name, api.DefaultName)
		}
	}
	if api.RoleFile != "manifests/rbac.yaml" {
		t.Errorf("the log points to %s", api.RoleFile)
	}
}

func TestManifests_Deployment(t *testing.T) {
	var d appsv1.Deployment
	load(t, "deployment.yaml", 0, &d)
	pod := d.Spec.Template.Spec
	container := pod.Containers[0]
	if d.Name != api.DefaultName || d.Namespace != api.DefaultNamespace || container.Image != api.DefaultImage || *d.Spec.Replicas != 1 {
		t.Errorf("got %s/%s with image %s and %d replicas", d.Namespace, d.Name, container.Image, *d.Spec.Replicas)
	}
	if key, value, _ := strings.Cut(api.PodSelector, "="); d.Spec.Template.Labels[key] != value || d.Spec.Selector.MatchLabels[key] != value {
		t.Errorf("got labels %v, want %s", d.Spec.Template.Labels, api.PodSelector)
	}
	if most := container.Resources.Limits.Memory().Value(); most >= 100<<20 {
		t.Errorf("got a memory limit of %d bytes, want less than 100 MiB", most)
	}
	if p := container.LivenessProbe; p.PeriodSeconds*(p.FailureThreshold-1) < 60 {
		t.Errorf("liveness ends a process frozen for %d s, want 60 s tolerated", p.PeriodSeconds*(p.FailureThreshold-1))
	}
	if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds != 30 || len(pod.Volumes) != 0 {
		t.Errorf("got grace %v and volumes %v, want 30 s stated and no volume", pod.TerminationGracePeriodSeconds, pod.Volumes)
	}
}

// The operator must take the arguments and the environment that its Deployment gives, as the kubelet expands them.
func TestManifests_TheOperatorTakesItsArguments(t *testing.T) {
	var d appsv1.Deployment
	load(t, "deployment.yaml", 0, &d)
	container := d.Spec.Template.Spec.Containers[0]
	fields := map[string]string{"metadata.name": "op-1", "metadata.namespace": "elsewhere", "metadata.uid": "u", "status.podIP": "127.1.2.3"}
	env := map[string]string{}
	var expand []string
	for _, e := range container.Env {
		value, known := fields[e.ValueFrom.FieldRef.FieldPath]
		if !known {
			t.Errorf("%s: field %s", e.Name, e.ValueFrom.FieldRef.FieldPath)
		}
		env[e.Name] = value
		expand = append(expand, "$("+e.Name+")", value)
	}
	var args []string
	for _, a := range container.Args {
		args = append(args, strings.NewReplacer(expand...).Replace(a))
	}
	o, err := parse(args, func(key string) string { return env[key] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.lock.Identity != "op-1" || o.identitySource != api.EnvPodName || o.lock.Namespace != "elsewhere" || o.lock.Name != api.DefaultName ||
		o.lock.Timing != api.Default() || o.address != "127.1.2.3:8080" || o.podNamespace != "elsewhere" || !o.lock.ReleaseOnCancel {
		t.Errorf("got %+v", o)
	}
	for _, flag := range []string{api.FlagLeaseDuration, api.FlagRenewDeadline, api.FlagRetryPeriod} {
		if !strings.Contains(strings.Join(container.Args, " "), flag) {
			t.Errorf("--%s is not stated", flag)
		}
	}
}

func TestManifests_TheRestFits(t *testing.T) {
	var namespace corev1.Namespace
	var work corev1.ConfigMap
	var budget policyv1.PodDisruptionBudget
	load(t, "namespace.yaml", 0, &namespace)
	load(t, "work.yaml", 0, &work)
	load(t, "pdb.yaml", 0, &budget)
	if namespace.Name != api.DefaultNamespace || work.Name != api.DefaultWork || work.Labels[api.LabelWork] != "true" || work.Namespace != api.DefaultNamespace {
		t.Errorf("got namespace %s, work %s/%s with %v", namespace.Name, work.Namespace, work.Name, work.Labels)
	}
	if budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("got %v, want maxUnavailable 1", budget.Spec.MaxUnavailable)
	}
	for name, labels := range map[string]map[string]string{"namespace": namespace.Labels, "work": work.Labels, "budget": budget.Labels} {
		if labels[api.LabelLab] != "true" {
			t.Errorf("%s carries no label %s", name, api.LabelLab)
		}
	}
}
