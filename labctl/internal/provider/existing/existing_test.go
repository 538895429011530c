package existing

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"academy.example/lab/labctl/internal/provider"
)

// The Role that the docs give a student grants what is asked for before anything is made: no more, no less.
func TestRights_TheDocumentedRoleGrantsThem(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/student-role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(data, &role); err != nil {
		t.Fatal(err)
	}
	grants, asks := map[string]bool{}, map[string]bool{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				grants[verb+" "+rule.APIGroups[0]+"/"+resource] = true
			}
		}
	}
	for _, r := range rights {
		for verb := range strings.FieldsSeq(r.verbs) {
			asks[verb+" "+r.group+"/"+r.resource] = true
		}
	}
	for right := range asks {
		if !grants[right] {
			t.Errorf("docs/student-role.yaml does not grant %s", right)
		}
	}
	for right := range grants {
		if !asks[right] {
			t.Errorf("docs/student-role.yaml grants %s, which nothing asks for", right)
		}
	}
}

func TestLocal(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost:6443": true, "https://[::1]:6443": true, "https://kube.localhost": true,
		"https://10.0.0.1:6443": false, "https://example.com": false, "https://localhost.example.com": false, "": false, ":": false,
	} {
		if got := local(server); got != want {
			t.Errorf("%q: got %t, want %t", server, got, want)
		}
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- {name: one, cluster: {server: "https://127.0.0.1:1"}}
- {name: two, cluster: {server: "https://127.0.0.1:2", certificate-authority: ca.crt}}
users:
- {name: me, user: {token: secret}}
- {name: you, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "false", interactiveMode: Never}}}
contexts:
- {name: first, context: {cluster: one, user: me, namespace: theirs}}
- {name: second, context: {cluster: two, user: me}}
- {name: plugin, context: {cluster: one, user: you}}
current-context: first
`

func kubeconfigFileIn(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestIsolate_HoldsTheNamedContextAlone(t *testing.T) {
	file := kubeconfigFileIn(t, kubeconfig)
	got, err := isolate(provider.Existing{Kubeconfig: file, Context: "first", Namespace: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(got.kubeconfig)
	if got.server != "https://127.0.0.1:1" || !strings.Contains(text, "secret") || !strings.Contains(text, "namespace: mine") || strings.Contains(text, "127.0.0.1:2") || strings.Contains(text, "plugin") {
		t.Errorf("got %s", text)
	}
	if after, _ := os.ReadFile(file); string(after) != kubeconfig {
		t.Error("the user's kubeconfig was changed")
	}
}

// Each kubeconfig that can't be used is a problem with something to type, and nothing is written for it.
func TestIsolate_WhatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		want provider.Existing
		says []string
	}{
		"no file":        {provider.Existing{Kubeconfig: "/does/not/exist", Context: "first"}, []string{"there is no kubeconfig /does/not/exist"}},
		"empty":          {provider.Existing{Kubeconfig: kubeconfigFileIn(t, ""), Context: "first"}, []string{"there is no context in"}},
		"no yaml":        {provider.Existing{Kubeconfig: kubeconfigFileIn(t, "\x00\x01{"), Context: "first"}, []string{"read the kubeconfig"}},
		"not named":      {provider.Existing{Kubeconfig: kubeconfigFileIn(t, kubeconfig)}, []string{"only when it is named", "first, plugin, second"}},
		"unknown":        {provider.Existing{Kubeconfig: kubeconfigFileIn(t, kubeconfig), Context: "third"}, []string{`no context "third"`, "first, plugin, second"}},
		"no certificate": {provider.Existing{Kubeconfig: kubeconfigFileIn(t, kubeconfig), Context: "second"}, []string{"second", "ca.crt"}},
	} {
		_, err := isolate(c.want)
		var problem *provider.Problem
		if !errors.As(err, &problem) || problem.Hint == "" {
			t.Errorf("%s: got %v, want a problem with a hint", name, err)
			continue
		}
		for _, part := range c.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

func TestAsk_TellsWhoseFaultItIs(t *testing.T) {
	file := kubeconfigFileIn(t, kubeconfig)
	for name, part := range map[string]string{"first": "does not answer", "plugin": "the program that gives the credentials"} {
		c, err := isolate(provider.Existing{Kubeconfig: file, Context: name})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(t.Context(), c)
		var problem *provider.Problem
		if !errors.As(err, &problem) || problem.Hint == "" || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want a problem that says %q", name, err, part)
		}
	}
}

// The objects that Down removes from a prepared namespace are those that the manifests make.
func TestRemoveObjects_CoversTheManifests(t *testing.T) {
	kinds := map[string]bool{}
	files, err := filepath.Glob("../../../../manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(data), "\n---\n") {
			var object struct {
				Kind     string `json:"kind"`
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			}
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatal(err)
			}
			kinds[object.Kind+" "+object.Metadata.Name] = true
		}
	}
	want := []string{"Kustomization ", "Namespace " + DefaultNamespace}
	for _, r := range []string{"Deployment", "PodDisruptionBudget", "RoleBinding", "Role", "ServiceAccount"} {
		want = append(want, r+" academy-operator")
	}
	want = append(want, "ConfigMap "+workObject)
	for kind := range kinds {
		if !slices.Contains(want, kind) {
			t.Errorf("the manifests make a %s, which removeObjects leaves behind", kind)
		}
	}
}
