package internal

import (
	"io/fs"
	"os"
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

// TestDocs_LinksLead follows every link of every page to a file. Those of docs/kit.md are read at the root of the packed kit.
func TestDocs_LinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	n := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			base := filepath.Dir(path)
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "client-go/") && strings.HasSuffix(path, "docs/kit.md") {
				continue
			}
			if strings.HasSuffix(path, "docs/kit.md") {
				base = "../.."
			}
			n++
			if _, err := os.Stat(filepath.Join(base, m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return err
	})
	if err != nil || n < 100 {
		t.Errorf("%d links were followed: %v", n, err)
	}
}
