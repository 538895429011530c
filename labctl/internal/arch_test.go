// Package internal holds no code; this test is the architecture.
package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "academy.example/lab"

// mayImport is the one-way rule: each package of the repository, and all of the repository that it may see.
// Paths are relative to the root. Groups go Words → Judgement → Hands → Conductor → Faces; nothing looks back.
// A new package fails the test until somebody decides what it owns and adds its line.
var mayImport = map[string]string{
	// the subject
	"operator":                             "operator/lease/gate operator/internal/terraform operator/api operator/lease/election operator/lease/pairs operator/internal/work operator/internal/serve",
	"operator/mutants":                     "operator/api operator/lease/election operator/internal/work operator/internal/serve",
	"operator/api":                         "",
	"operator/lease/election":              "operator/api",
	"operator/lease/election/electiontest": "",
	"operator/lease/pairs":                 "operator/api",
	"operator/lease/heartbeat":             "",
	"operator/lease/readmission":           "operator/lease/heartbeat",
	"operator/lease/gate":                  "", // the job lock and the operation gate; its model runs it in every order
	"operator/lease/gate/gatetest":         "",
	"operator/lease/gate/model":            "operator/lease/gate",
	"operator/internal/terraform":          "operator/api operator/lease/gate",
	"operator/internal/work":               "operator/api",
	"operator/internal/serve":              "operator/api",
	"manifests":                            "",
	// words
	"labctl/internal/timeline": "operator/api",
	"labctl/internal/fault":    "",
	"labctl/internal/whole":    "", // files of people, read and written whole
	// judgement
	"labctl/internal/gap":                  "operator/api labctl/internal/timeline labctl/internal/fault",
	"labctl/internal/check":                "labctl/internal/timeline labctl/internal/fault labctl/internal/gap",
	"labctl/internal/mutant":               "operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/check",
	"labctl/internal/report":               "operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/check",
	"labctl/internal/board":                "operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/report",
	"labctl/internal/checklist/plain":      "",
	"labctl/internal/checklist/source":     "",
	"labctl/internal/checklist/source/gen": "labctl/internal/checklist/source",
	"labctl/internal/checklist":            "labctl/internal/check labctl/internal/checklist/plain labctl/internal/checklist/source labctl/internal/exercise/recorded",
	"labctl/internal/pulse":                "labctl/internal/timeline operator/lease/heartbeat",
	"labctl/internal/exercise/recorded":    "labctl/internal/timeline labctl/internal/report",
	"labctl/internal/exercise":             "labctl/internal/whole operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/check labctl/internal/checklist/plain labctl/internal/checklist/source labctl/internal/exercise/recorded",
	"exercises":                            "",
	"checklists":                           "",
	// virtual time: runs the operator's elections, and no cluster; what it records is a timeline
	"labctl/internal/sim": "operator/api operator/lease/election operator/lease/election/electiontest labctl/internal/timeline",
	// hands
	"labctl/internal/provider":                      "operator/api",
	"labctl/internal/provider/home":                 "labctl/internal/provider",
	"labctl/internal/provider/audit":                "labctl/internal/provider",
	"labctl/internal/provider/image":                "operator/api labctl/internal/provider",
	"labctl/internal/provider/providertest":         "labctl/internal/provider", // for tests only, as its program is
	"labctl/internal/provider/providertest/subject": "",
	"labctl/internal/provider/embedded":             "operator/api labctl/internal/provider labctl/internal/provider/home labctl/internal/provider/audit",
	"labctl/internal/provider/existing":             "labctl/internal/whole operator/api labctl/internal/provider labctl/internal/provider/home",
	"labctl/internal/provider/kind":                 "labctl/internal/whole operator/api labctl/internal/provider labctl/internal/provider/home labctl/internal/provider/audit labctl/internal/provider/image",
	"labctl/internal/replica":                       "operator/api labctl/internal/fault labctl/internal/provider",
	"labctl/internal/observe":                       "operator/api labctl/internal/timeline",
	// conductor
	"labctl/internal/lab":            "labctl/internal/whole labctl/internal/mutant operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/check labctl/internal/report labctl/internal/provider labctl/internal/replica labctl/internal/observe operator/lease/pairs operator/lease/readmission",
	"labctl/internal/gatelab":        "operator/api operator/lease/gate operator/lease/gate/model labctl/internal/timeline labctl/internal/report labctl/internal/provider labctl/internal/replica labctl/internal/lab",
	"labctl/internal/exercise/shelf": "labctl/internal/exercise/recorded labctl/internal/lab labctl/internal/pulse",
	// evidence: reads archives of runs and answers, and nothing but bytes
	"labctl/internal/evidence": "labctl/internal/whole labctl/internal/timeline labctl/internal/fault labctl/internal/check labctl/internal/checklist labctl/internal/checklist/plain labctl/internal/exercise labctl/internal/exercise/recorded labctl/internal/report labctl/internal/provider labctl/internal/lab labctl/internal/pulse",
	// faces
	"labctl/internal/tui":       "operator/api labctl/internal/timeline labctl/internal/fault labctl/internal/board labctl/internal/tui/quiet",
	"labctl/internal/tui/quiet": "",
	"labctl/internal/cmd":       "labctl/internal/whole labctl/internal/gatelab operator/lease/gate/model labctl/internal/mutant labctl/internal/evidence labctl/internal/checklist labctl/internal/checklist/plain labctl/internal/checklist/source labctl/internal/exercise labctl/internal/exercise/recorded labctl/internal/exercise/shelf exercises checklists labctl/internal/board labctl/internal/tui operator/api manifests labctl/internal/timeline labctl/internal/fault labctl/internal/gap labctl/internal/check labctl/internal/report labctl/internal/provider labctl/internal/provider/embedded labctl/internal/provider/existing labctl/internal/provider/home labctl/internal/provider/image labctl/internal/provider/kind labctl/internal/replica labctl/internal/lab labctl/internal/sim labctl/internal/pulse operator/lease/election operator/lease/heartbeat operator/lease/readmission",
	"labctl":                    "labctl/internal/cmd",
	// the embedded cluster: its own module, which sees nothing of the rest
	"labctl/cluster":                      "labctl/cluster/internal/agent labctl/cluster/internal/apiserver labctl/cluster/internal/controllers labctl/cluster/internal/etcd labctl/cluster/internal/lean labctl/cluster/internal/pki labctl/cluster/internal/state labctl/cluster/internal/supervise",
	"labctl/cluster/kubectl":              "",
	"labctl/cluster/internal/pki":         "",
	"labctl/cluster/internal/state":       "labctl/cluster/internal/pki",
	"labctl/cluster/internal/supervise":   "",
	"labctl/cluster/internal/lean":        "",
	"labctl/cluster/internal/etcd":        "",
	"labctl/cluster/internal/apiserver":   "labctl/cluster/internal/pki labctl/cluster/internal/etcd",
	"labctl/cluster/internal/binder":      "",
	"labctl/cluster/internal/controllers": "labctl/cluster/internal/apiserver labctl/cluster/internal/binder",
	"labctl/cluster/internal/process":     "",
	"labctl/cluster/internal/streams":     "labctl/cluster/internal/process",
	"labctl/cluster/internal/relay":       "",
	"labctl/cluster/internal/agent":       "labctl/cluster/internal/process labctl/cluster/internal/streams labctl/cluster/internal/relay",
}

// onlyIn confines third parties: a package whose import path begins with the key may be imported by these packages only.
var onlyIn = map[string][]string{
	"github.com/charmbracelet/":              {"labctl/internal/tui", "labctl/internal/tui/quiet"},
	"sigs.k8s.io/kind":                       {"labctl/internal/provider/kind"},
	"github.com/spf13/cobra":                 {"labctl/internal/cmd"},
	"github.com/santhosh-tekuri/jsonschema/": {}, // tests only
	"k8s.io/client-go/tools/leaderelection":  {"operator", "operator/lease/election", "operator/lease/election/electiontest", "labctl/internal/sim", "operator/lease/pairs"},
}

// pure packages touch no cluster and no network, and start no program.
var pure = []string{"operator/api", "labctl/internal/mutant", "labctl/internal/timeline", "labctl/internal/fault", "labctl/internal/gap", "labctl/internal/check", "labctl/internal/report", "labctl/internal/board",
	"labctl/internal/checklist", "labctl/internal/checklist/plain", "labctl/internal/checklist/source", "labctl/internal/exercise", "labctl/internal/exercise/recorded"}

func TestArchitecture(t *testing.T) {
	seen := map[string]bool{}
	walk(t, "../..", func(pkg, file string, imports []string) {
		seen[pkg] = true
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s: the package %s is not in mayImport; decide what it owns and add it", file, pkg)
			return
		}
		for _, path := range imports {
			if own, ok := own(path); ok && own != pkg && !slices.Contains(strings.Fields(allowed), own) {
				t.Errorf("%s imports %s; %s may import only: %s", file, own, pkg, allowed)
			}
			for prefix, packages := range onlyIn {
				if strings.HasPrefix(path, prefix) && !slices.Contains(packages, pkg) && !strings.HasPrefix(pkg, "labctl/cluster") {
					t.Errorf("%s imports %s; only %v may", file, path, packages)
				}
			}
			if slices.Contains(pure, pkg) && impure(path) {
				t.Errorf("%s imports %s; %s touches no cluster, network or program", file, path, pkg)
			}
		}
	})
	for pkg := range mayImport {
		if !seen[pkg] {
			t.Errorf("mayImport names %s, which does not exist", pkg)
		}
	}
}

func impure(path string) bool {
	return strings.HasPrefix(path, "k8s.io/") || path == "net" || strings.HasPrefix(path, "net/") || path == "os/exec"
}

// own returns the path of a package of this repository relative to its root.
func own(path string) (string, bool) {
	rel, ok := strings.CutPrefix(path, module+"/")
	return rel, ok
}

// walk calls visit for each Go file below root that is no test.
func walk(t *testing.T, root string, visit func(pkg, file string, imports []string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var imports []string
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, name)
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), path, imports)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBothModulesHaveTheSameClientGo keeps what the operator is built with and what the cluster is built with alike: the
// facts that the exercises teach were read in this version.
func TestBothModulesHaveTheSameClientGo(t *testing.T) {
	lab := lineOf(t, "../../go.mod", "k8s.io/client-go v")
	cluster := lineOf(t, "../cluster/go.mod", "k8s.io/client-go => k8s.io/client-go v")
	if lab != cluster {
		t.Errorf("client-go is %s here and %s in labctl/cluster", lab, cluster)
	}
}

// lineOf returns the version that follows prefix in a go.mod.
func lineOf(t *testing.T, file, prefix string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return version
		}
	}
	t.Fatalf("%s has no line that begins with %q", file, prefix)
	return ""
}

// TestArchitecture_ThePageHasEveryPackage holds the table of docs/architecture.md to the one above.
func TestArchitecture_ThePageHasEveryPackage(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range mayImport {
		switch pkg {
		case "labctl/internal/checklist/plain", "labctl/internal/checklist/source", "labctl/internal/checklist/source/gen", "labctl/internal/exercise/recorded", "labctl/internal/provider/providertest/subject":
			continue // in the row of the package above
		}
		if !strings.HasPrefix(pkg, "labctl/cluster") && !strings.Contains(string(page), "`"+pkg+"`") {
			t.Errorf("docs/architecture.md has no row for %s", pkg)
		}
	}
}
