package lab

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// nameless returns what takes the user's folders and name out of a text before it is recorded, since a run's folder may be
// handed in or published: a path below one of the folders keeps its last element, …/token, and the user of a refused
// request is not named. The user's usual folders need not be given.
func nameless(folders ...string) func(string) string {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		folders = append(folders, os.Getenv(name))
	}
	if here, err := os.Getwd(); err == nil {
		folders = append(folders, here)
	}
	if program, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(program))
	}
	for _, folder := range slices.Clone(folders) {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			folders = append(folders, real)
		}
	}
	folders = slices.DeleteFunc(folders, func(f string) bool { return !filepath.IsAbs(f) || filepath.Clean(f) == "/" })
	slices.SortFunc(folders, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // the longest that fits is the one
	for i, folder := range folders {
		folders[i] = regexp.QuoteMeta(filepath.Clean(folder))
	}
	paths := regexp.MustCompile(`(^|[^\w.-])(?:` + strings.Join(folders, "|") + `)((?:/[^\s"'\\:;,()]*)?)`)
	return func(text string) string {
		if strings.ContainsRune(text, '/') && len(folders) > 0 {
			text = paths.ReplaceAllStringFunc(text, func(found string) string {
				parts := paths.FindStringSubmatch(found)
				return parts[1] + "…" + lastElement(parts[2])
			})
		}
		return anyUser.ReplaceAllStringFunc(text, func(found string) string {
			parts := anyUser.FindStringSubmatch(found)
			if strings.HasPrefix(parts[3], "system:") {
				return found // Kubernetes made that name
			}
			return parts[1] + parts[2] + "someone" + parts[2]
		})
	}
}

// anyUser is a user as the API server names one in a refusal, also inside JSON.
var anyUser = regexp.MustCompile(`(\b[Uu]ser )(\\?")([^"\\]*)\\?"`)

// lastElement returns the end of a path from its last slash.
func lastElement(path string) string {
	return path[max(0, strings.LastIndexByte(strings.TrimRight(path, "/"), '/')):]
}
