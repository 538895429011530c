package source

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// TestTable_isOfTheModuleInUse compares the table with the module's source, where there is a module cache.
func TestTable_isOfTheModuleInUse(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", Module).Output()
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || dir == "" {
		t.Skipf("no source of %s here: %v", Module, err)
	}
	if version != Version {
		t.Errorf("go.mod has %s, the table is of %s; go generate ./labctl/internal/checklist/source", version, Version)
	}
	scanned, err := Scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(scanned, files) {
		t.Error("table.go is not what the module's source gives; go generate ./labctl/internal/checklist/source")
	}
}

const renew = "LeaderElector.renew"

func TestVerify_acceptsThePlaceHoweverItIsWritten(t *testing.T) {
	for _, text := range []string{
		"leaderelection.go:279", "leaderelection.go:285-302", "leaderelection.go:285–302", "`leaderelection.go`:285",
		"tools/leaderelection/leaderelection.go#L279-L312", "leaderelection.go line 290", "leaderelection.go, lines 290 to 300",
		"https://github.com/kubernetes/client-go/blob/v0.37.2/tools/leaderelection/leaderelection.go#L279",
		"staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go:279 (Kubernetes v1.37.2)",
		"/home/me/go/pkg/mod/k8s.io/client-go@v0.37.2/tools/leaderelection/leaderelection.go:279:func (le *LeaderElector) renew(",
		"\"leaderelection.go:279\"",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if ok, known, reason := c.Verify(Version, renew); !ok || !known {
			t.Errorf("%q: got %t, %t: %s", text, ok, known, reason)
		}
	}
}

func TestVerify_namesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"leaderelection.go:444":           "is in LeaderElector.tryAcquireOrRenew, which is not what is asked for",
		"leaderelection.go:279-324":       "reaches from LeaderElector.renew to LeaderElector.release",
		"leaderelection.go:9999":          "the file has lines 1 to 573",
		"leaderelection.go:0":             "the file has lines 1 to 573",
		"leaderelection.go:40":            "is in no function",
		"renew.go:279":                    "is no file of tools/leaderelection",
		"leasecandidate.go:130":           "is in LeaseCandidate.Run",
		"leaderelection.go:279 (v0.30.1)": "is cited of client-go v0.30.1; the operator was built with v0.37.2",
		"leaderelection.go:279 of 1.29.0": "is cited of client-go v0.29.0",
	} {
		c, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if ok, _, reason := c.Verify(Version, renew); ok || !strings.Contains(reason, want) {
			t.Errorf("%q: got %t, %q, want %q", text, ok, reason, want)
		}
	}
	for text, want := range map[string]string{"": "no file and line", "renew": "no file and line", "leaderelection.go": "no file and line", "leaderelection.go:300-200": "run backwards"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if ok, known, _ := (Citation{File: "leaderelection.go", First: 279, Last: 279}).Verify("v0.38.0", renew); ok || known {
		t.Error("a table of another version verified a citation")
	}
}
