package provider

import (
	"runtime/debug"
	"strings"
)

// devel is the version of what was built without one.
const devel = "dev"

// Version is what `go build` recorded of this program, or dev.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return VersionOf(info)
}

// VersionOf is what `go build` recorded of a program, or dev.
func VersionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return devel
	}
	return info.Main.Version
}

// SameVersion reports whether programs of these versions belong together. What was built from files that nobody committed
// has no version to go by, and passes.
func SameVersion(a, b string) bool {
	loose := func(v string) bool { return v == devel || strings.HasSuffix(v, "+dirty") }
	return a == b || loose(a) || loose(b)
}
