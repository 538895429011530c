package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// elsewhere are the lines of the pages that TestPagesLive does not type, by what they begin with, and why not, or who does instead.
var elsewhere = map[string]string{
	"make test":                             "it runs this test",
	"make check":                            "CI is that",
	"make docs":                             "it writes into the repository",
	"make kit":                              "it compiles for other platforms",
	"make torture":                          "25 minutes, and a test itself",
	"LAB_TORTURE":                           "the same",
	"PROVIDERTEST_FIGURES":                  "a test itself",
	"LABCTL_KIND_IMAGE":                     "needs Docker",
	"labctl up --provider kind":             "needs Docker; make e2e-kind",
	"make lab-up PROVIDER=kind":             "the same",
	"labctl doctor --provider kind":         "the same",
	"labctl mutants --operator-image":       "the same",
	"labctl up --provider existing":         "needs another cluster; TestClass of the same package",
	"labctl failover --deployment NS/NAME":  "a form; docs/ci.md has it with names",
	"labctl failover --deployment … --json": "the same",
	"labctl mutants":                        "TestE2EMutants and make mutants",
	"labctl failover --mode upgrade":        "exercise 23, TestExercisesLive",
	"labctl failover --mode graceful,kill --election coordinated": "TestE2ECoordinated",
	"labctl evidence verify evidence-07.tar.gz":                   "needs what students hand in; TestThirty",
	"labctl evidence summary":                                     "the same",
	"labctl readmission controller":                               "it goes on until it is ended; TestE2EHeartbeat",
	"labctl readmission adapter":                                  "needs the controller; TestE2EHeartbeat",
}

// endless begins the lines that would go on for ever: they get Ctrl-C.
const endless = "labctl watch"

// ends are the exit codes of lines that do not end with 0, by what they begin with.
var ends = map[string]int{
	"labctl checklist check":                               ExitFail, // the lines that a person has to write are open
	"labctl heartbeat kube-system/kube-controller-manager": ExitFail, // the embedded cluster has none
	"labctl readmission status":                            ExitFail, // no controller was begun
}

// TestPagesLive types the command blocks of README and of the docs, each page in a shell of its own, as they stand. Those of the exercises
// are typed by TestExercisesLive. It takes a quarter of an hour, so it is done only when LAB_E2E is set; make e2e does.
func TestPagesLive(t *testing.T) {
	if os.Getenv("LAB_E2E") == "" {
		t.Skip("takes minutes; make e2e")
	}
	w := newWorld(t)
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(w.dir, "work")
	if err := os.MkdirAll(filepath.Join(work, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "exercises"), filepath.Join(work, "exercises")); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"labctl", "academy-operator", "academy-mutants", "academy-cluster", "kubectl"} {
		if err := os.Symlink(filepath.Join(w.bin, program), filepath.Join(work, "bin", program)); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range []string{"README.md", "docs/student.md", "docs/heartbeat.md", "docs/gate.md", "docs/coordinated.md", "docs/watch.md", "docs/instructor.md", "checklists/README.md", "docs/kit.md", "docs/ci.md"} {
		t.Run(page, func(t *testing.T) {
			w.t = t
			if page == "docs/ci.md" {
				w.foreignOperator(root, work)
			} else {
				w.must("labctl", "up")
			}
			w.types(root, work, page)
		})
	}
	w.t = t
}

// foreignOperator makes what docs/ci.md takes for given: no lab, the reader's operator, and the page's own manifest.
func (w *world) foreignOperator(root, work string) {
	w.t.Helper()
	w.run(time.Minute, "labctl", "down")
	page, err := os.ReadFile(filepath.Join(root, "docs/ci.md"))
	if err != nil {
		w.t.Fatal(err)
	}
	manifest := regexp.MustCompile("(?s)```yaml\n(apiVersion: v1\n.*?)```").FindSubmatch(page)
	if manifest == nil {
		w.t.Fatal("docs/ci.md has no manifest")
	}
	if err := os.WriteFile(filepath.Join(work, "deploy.yaml"), manifest[1], 0o600); err != nil {
		w.t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(work, "bin/my-operator"), "k8s.io/client-go/examples/leader-election")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// types types the lines of a page, and says of each that ended otherwise than it should.
func (w *world) types(root, work, page string) {
	w.t.Helper()
	script := "cd " + work + "\ntest ! -d ../state/labctl/lab || eval \"$(labctl env)\"\n" // as README says of every shell
	typed := 0
	for _, l := range linesOf(w.t, filepath.Join(repository, page)) {
		line := l.text
		if begins(elsewhere, line) != "" {
			continue
		}
		typed++
		if strings.HasPrefix(line, "make ") {
			line = "(cd " + root + " && " + line + ")"
		}
		want := 0
		if key := begins(ends, line); key != "" {
			want = ends[key]
		}
		if strings.HasPrefix(line, endless) {
			line = "timeout -s INT --preserve-status 8 " + line
		}
		script += fmt.Sprintf("echo \"### %s:%d\"\n%s\ncode=$?; test $code = %d || { echo \"### WRONG %s:%d ended with $code\"; }\n", page, l.n, line, want, page, l.n)
	}
	if typed == 0 {
		w.t.Fatalf("nothing of %s was typed", page)
	}
	c := exec.Command("timeout", "1800", "bash", "-c", script)
	c.Env = w.env
	for _, cache := range []string{"GOCACHE", "GOMODCACHE"} { // make builds; the reader's home is a new one
		where, err := exec.Command("go", "env", cache).Output()
		if err != nil {
			w.t.Fatal(err)
		}
		c.Env = append(c.Env, cache+"="+strings.TrimSpace(string(where)))
	}
	out, err := c.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "### WRONG") || strings.Contains(string(out), "### WRONG") {
		w.t.Errorf("%s: %v\n%s", page, err, out)
	}
	w.t.Logf("%s: %d lines were typed", page, typed)
}

// begins returns the longest key that the line begins with; "" if there is none.
func begins[V any](keys map[string]V, line string) (found string) {
	for key := range keys {
		if strings.HasPrefix(line, key) && len(key) > len(found) {
			found = key
		}
	}
	return found
}

// TestPages_ElsewhereIsSomewhere keeps the lists of TestPagesLive to lines that are there.
func TestPages_ElsewhereIsSomewhere(t *testing.T) {
	unseen := map[string]bool{}
	for key := range elsewhere {
		unseen[key] = true
	}
	for key := range ends {
		unseen[key] = true
	}
	for _, page := range pages(t) {
		for _, l := range linesOf(t, page) {
			delete(unseen, begins(elsewhere, l.text))
			delete(unseen, begins(ends, l.text))
		}
	}
	for key := range unseen {
		t.Errorf("no page has a line that begins with %q", key)
	}
}
