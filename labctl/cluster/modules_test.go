package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// requirements returns module → version of every requirement in a go.mod file.
func requirements(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			found[fields[0]] = fields[1]
		}
	}
	return found
}

// ours are modules that the release does not have: a kubelet leaves terminals to the container runtime.
var ours = map[string]bool{"github.com/creack/pty": true}

// Another version of a shared module than Kubernetes was released with means that all of it is compiled again, and
// that it runs in a combination which nobody has tested.
func TestNoModuleDiffersFromTheKubernetesRelease(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Skipf("the go command cannot say where the release is: %v", err)
	}
	release := requirements(t, strings.TrimSpace(string(out)))
	if len(release) < 100 {
		t.Fatalf("got %d requirements of the release, want more", len(release))
	}
	for module, got := range requirements(t, "go.mod") {
		want, known := release[module]
		switch {
		case module == "k8s.io/kubernetes", ours[module]:
		case !known:
			t.Errorf("%s is not in the release", module)
		case strings.HasPrefix(module, "k8s.io/") && want == "v0.0.0": // pinned by the replace block
		case got != want:
			t.Errorf("%s: got %s, the release has %s", module, got, want)
		}
	}
}
