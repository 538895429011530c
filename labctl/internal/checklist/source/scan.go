package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Scan reads the declarations of tools/leaderelection in a checkout of client-go: of the package and of resourcelock,
// without tests. It is what the table is generated from, and compared with.
func Scan(module string) ([]File, error) {
	root := filepath.Join(module, "tools", "leaderelection")
	var files []File
	for _, pattern := range []string{"*.go", "resourcelock/*.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		slices.Sort(paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := scanFile(root, path)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no Go file", root)
	}
	return files, nil
}

func scanFile(root, path string) (File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, data, parser.ParseComments)
	if err != nil {
		return File{}, err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return File{}, err
	}
	f := File{Name: filepath.ToSlash(name), Lines: strings.Count(string(data), "\n")}
	line := func(p token.Pos) int { return set.Position(p).Line }
	for _, d := range parsed.Decls {
		f.Declarations = append(f.Declarations, declared(d, line)...)
	}
	return f, nil
}

// declared lists what a declaration names: a function, or each type of a group.
func declared(d ast.Decl, line func(token.Pos) int) []Declaration {
	from := func(doc *ast.CommentGroup, at token.Pos) int {
		if doc != nil {
			at = doc.Pos()
		}
		return line(at)
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []Declaration{{Name: receiver(d) + d.Name.Name, Doc: from(d.Doc, d.Pos()), First: line(d.Pos()), Last: line(d.End())}}
	case *ast.GenDecl:
		var all []Declaration
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				all = append(all, Declaration{Name: t.Name.Name, Doc: from(d.Doc, d.Pos()), First: line(t.Pos()), Last: line(t.End())})
			}
		}
		return all
	}
	return nil
}

// receiver is the type of a method with a dot behind it; empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
