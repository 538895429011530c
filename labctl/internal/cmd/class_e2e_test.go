package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClassLive prepares two students on a lab of its own: each may use its namespace and no other, what they do there is taken away
// again, and so are their credentials. Like the exercises, only when LAB_E2E is set.
func TestClassLive(t *testing.T) {
	if os.Getenv("LAB_E2E") == "" {
		t.Skip("takes a minute; make e2e")
	}
	w := newWorld(t)
	w.must("labctl", "up")
	w.must("labctl", "class", "new", "autumn", "--output", filepath.Join(t.TempDir(), "class.json"))
	dir := filepath.Join(t.TempDir(), "class")
	var grants classGrants
	if err := json.Unmarshal([]byte(w.must("labctl", "class", "kubeconfigs", "2", "--dir", dir, "--valid", "1h", "--json")), &grants); err != nil {
		t.Fatal(err)
	}
	one, two := filepath.Join(dir, "student-01.kubeconfig"), filepath.Join(dir, "student-02.kubeconfig")
	if info, err := os.Stat(two); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", two, info, err)
	}
	if at := grants.Students[0].ExpiresAt; time.Until(at) > time.Hour || time.Until(at) < 50*time.Minute {
		t.Errorf("the token ends at %s", at)
	}
	for _, what := range []string{"pods", "secrets", "configmaps"} {
		if r := w.run(time.Minute, "kubectl", "--kubeconfig", one, "-n", "student-02", "get", what); r.code == 0 || !strings.Contains(r.err, "forbidden") {
			t.Errorf("student-01 gets %s of student-02: exit code %d, %s", what, r.code, r.err)
		}
	}
	if r := w.run(time.Minute, "kubectl", "--kubeconfig", one, "create", "token", "failover-lab"); r.code == 0 {
		t.Error("student-01 may prolong the token")
	}
	w.must("labctl", "up", "--name", "s1", "--provider", "existing", "--kubeconfig", one, "--context", "student-01", "--namespace", "student-01", "--operator-image", ownImage)
	if r := w.run(3*time.Minute, "labctl", "failover", "--name", "s1", "--timing", "fast", "--force"); r.code != ExitPass && r.code != ExitUnknown {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	w.must("labctl", "down", "--name", "s1")
	w.must("labctl", "class", "kubeconfigs", "--remove", "--dir", dir)
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is still there", dir)
	}
	if left := w.kubectl("get", "namespaces"); strings.Contains(left, "student-") {
		t.Errorf("left:\n%s", left)
	}
}
