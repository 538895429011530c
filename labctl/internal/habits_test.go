package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// How long a file and a function may be, in lines. A test is a list more often than not, and may be half as long again.
const (
	longestFile     = 400
	longestFunction = 60
	longestTest     = 90
)

// TestHabits holds both modules to what a reader can keep in the head: short files, short functions, a comment for each package, no
// init but those that are named here with their reason.
func TestHabits(t *testing.T) {
	inits := map[string]string{
		"operator/lease/gate/model/world.go": "tables of names, made once, that a million states share",
		"labctl/internal/tui/quiet/quiet.go": "it must come before another package's init",
	}
	commented := map[string]bool{}
	files := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && made("../..", path, d) {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		name, test := strings.TrimPrefix(path, "../../"), strings.HasSuffix(path, "_test.go")
		if !test {
			commented[filepath.Dir(name)] = commented[filepath.Dir(name)] || f.Doc != nil
		}
		if n := files.Position(f.FileEnd).Line; n > longestFile {
			t.Errorf("%s has %d lines, more than %d", name, n, longestFile)
		}
		for _, d := range f.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			limit := longestFunction
			if test {
				limit = longestTest
			}
			if n := 1 + files.Position(function.End()).Line - files.Position(function.Pos()).Line; n > limit {
				t.Errorf("%s: %s has %d lines, more than %d", name, function.Name.Name, n, limit)
			}
			if function.Name.Name == "init" && inits[name] == "" {
				t.Errorf("%s has an init: wire explicitly, or name its reason here", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(commented) < 50 {
		t.Errorf("only %d packages were seen", len(commented))
	}
	for dir, has := range commented {
		if !has {
			t.Errorf("package %s has no comment that says what it owns", dir)
		}
	}
}
