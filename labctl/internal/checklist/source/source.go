// Package source owns citations of client-go's leader election: which function a file and line lie in, for the version that
// the operator is built with. An installed kit has no module cache, so the table of functions is generated.
package source

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:generate go run ./gen

// Module is the module that is cited.
const Module = "k8s.io/client-go"

// File is one Go file of tools/leaderelection.
type File struct {
	Name         string // relative to tools/leaderelection
	Lines        int
	Declarations []Declaration
}

// Declaration is a function, method or type, and its lines.
type Declaration struct {
	Name  string // with the receiver's type before a dot: LeaderElector.renew
	Doc   int    // first line of its comment; First if it has none
	First int
	Last  int
}

// Find returns the declaration of that name in any file of the table.
func Find(name string) (File, Declaration, bool) {
	for _, f := range files {
		for _, d := range f.Declarations {
			if d.Name == name {
				return f, d, true
			}
		}
	}
	return File{}, Declaration{}, false
}

// Citation is a place in a source, as a person wrote it.
type Citation struct {
	File        string // its path as far as it was given
	First, Last int
	Version     string // of client-go; empty if it was not given
}

// String writes it the usual way.
func (c Citation) String() string {
	out := fmt.Sprintf("%s:%d", path.Base(c.File), c.First)
	if c.Last > c.First {
		out += fmt.Sprintf("-%d", c.Last)
	}
	return out
}

// place finds FILE.go:LINE, FILE.go#L12-L20, FILE.go line 12 and the like.
var (
	place   = regexp.MustCompile(`(?i)([\w./@~+-]+\.go)["')\]*` + "`" + `]*\s*(?:[:#,]|\s|lines?|\()*\s*L?(\d{1,6})(?:\s*(?:-|to|until|:|,)+\s*L?(\d{1,6}))?`)
	release = regexp.MustCompile(`\bv?([01])\.(\d+)\.(\d+)\b`)
)

// Parse reads a citation out of a line of text. What it cites may be a path, a link to a file on the web, or its bare name.
func Parse(text string) (Citation, error) {
	text = strings.NewReplacer("–", "-", "—", "-", "‑", "-", "−", "-").Replace(text)
	found := place.FindStringSubmatch(text)
	if found == nil {
		return Citation{}, fmt.Errorf("no file and line in it; write it as leaderelection.go:123")
	}
	c := Citation{File: found[1]}
	c.First, _ = strconv.Atoi(found[2])
	c.Last = c.First
	if found[3] != "" {
		c.Last, _ = strconv.Atoi(found[3])
	}
	if v := release.FindStringSubmatch(text); v != nil {
		c.Version = "v0." + v[2] + "." + v[3] // Kubernetes 1.N.P carries client-go 0.N.P
	}
	if c.Last < c.First {
		return c, fmt.Errorf("lines %d to %d run backwards", c.First, c.Last)
	}
	return c, nil
}

// Verify tells whether the citation lies in one of the wanted declarations of the version that the operator was built with.
// known is false if the table is of another version, so that nothing can be said. The reason never tells the wanted place.
func (c Citation) Verify(built string, wanted ...string) (ok, known bool, reason string) {
	if c.Version != "" && built != "" && c.Version != built {
		return false, true, fmt.Sprintf("%s is cited of client-go %s; the operator was built with %s", c, c.Version, built)
	}
	if built != Version {
		return false, false, fmt.Sprintf("the operator was built with client-go %q; the table of functions is of %s", built, Version)
	}
	file, reason := c.file()
	if reason != "" {
		return false, true, reason
	}
	switch {
	case c.First < 1 || c.Last > file.Lines:
		return false, true, fmt.Sprintf("%s: the file has lines 1 to %d in %s", c, file.Lines, Version)
	case c.inside(file, wanted):
		return true, true, fmt.Sprintf("%s is in %s (%s %s)", c, file.at(c.First), Module, Version)
	case file.at(c.First) == file.at(c.Last):
		return false, true, fmt.Sprintf("%s is in %s, which is not what is asked for", c, file.at(c.First))
	default:
		return false, true, fmt.Sprintf("%s reaches from %s to %s: cite the one place", c, file.at(c.First), file.at(c.Last))
	}
}

func (c Citation) inside(file File, wanted []string) bool {
	return slices.ContainsFunc(file.Declarations, func(d Declaration) bool {
		return slices.Contains(wanted, d.Name) && c.First >= d.Doc && c.Last <= d.Last
	})
}

// file finds the cited file in the table, by its bare name.
func (c Citation) file() (File, string) {
	name := path.Base(c.File)
	for _, f := range files {
		if path.Base(f.Name) == name {
			return f, ""
		}
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return File{}, fmt.Sprintf("%s is no file of tools/leaderelection in client-go %s; these are: %s", name, Version, strings.Join(names, ", "))
}

// at names what a line belongs to.
func (f File) at(line int) string {
	for _, d := range f.Declarations {
		if line >= d.Doc && line <= d.Last {
			return d.Name
		}
	}
	return "no function"
}
