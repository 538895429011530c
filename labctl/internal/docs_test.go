package internal

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocs_NameTestsThatExist keeps the tables that say where something is tested true.
func TestDocs_NameTestsThatExist(t *testing.T) {
	tests := map[string]bool{}
	pages := map[string][]string{}
	declared, named := regexp.MustCompile(`(?m)^func (Test\w+)\(`), regexp.MustCompile("`(Test[A-Z]\\w*)`")
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && made("../..", path, d) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		page := strings.HasSuffix(path, ".md")
		if !page && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if page {
			for _, m := range named.FindAllStringSubmatch(string(data), -1) {
				pages[m[1]] = append(pages[m[1]], path)
			}
			return nil
		}
		for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
			tests[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 10 {
		t.Fatalf("only %d tests are named in the docs: the table of traps is gone", len(pages))
	}
	for name, where := range pages {
		if !tests[name] {
			t.Errorf("%s names %s, which does not exist", strings.Join(where, ", "), name)
		}
	}
}

// TestDocs_LinksLead follows every link of every page to a file.
func TestDocs_LinksLead(t *testing.T) {
	if n := follow(t, "../.."); n < 100 {
		t.Errorf("%d links were followed", n)
	}
}

// TestKit_LinksLead does the same in what a kit is packed from.
func TestKit_LinksLead(t *testing.T) {
	packed := filepath.Join(t.TempDir(), "kit")
	if out, err := exec.Command("make", "-C", "../..", "course", "COURSE="+packed).CombinedOutput(); err != nil {
		t.Fatalf("make course: %v\n%s", err, out)
	}
	if n := follow(t, packed); n < 100 {
		t.Errorf("%d links were followed", n)
	}
	for _, name := range []string{"client-go/NOTICE", "client-go/LICENSE", "operator/lease/gate/take.go", "manifests/gate/deployment.yaml"} {
		if _, err := os.Stat(filepath.Join(packed, name)); err != nil {
			t.Error(err)
		}
	}
}

// follow follows every link of the pages below a folder to a file, and returns how many there are.
func follow(t *testing.T, root string) (n int) {
	t.Helper()
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && made(root, path, d) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n
}

// made reports whether a folder holds what was built: bin and dist.
func made(root, path string, d fs.DirEntry) bool {
	return d.IsDir() && (path == filepath.Join(root, "bin") || path == filepath.Join(root, "dist"))
}
