package replica

import (
	"slices"
	"strings"

	"academy.example/lab/operator/api"
)

// argument is one flag as Go's flag package reads it: behind one dash or two, its value behind = or in the next word.
type argument struct {
	name, value string
	words       []string // as written
}

// parseArgs reads args as Go's flag package does: up to the first word that is no flag, and of several of one name the last
// counts. rest is what is not read.
func parseArgs(args []string) (flags []argument, rest []string) {
	for len(args) > 0 {
		name, dashed := strings.CutPrefix(args[0], "-")
		name = strings.TrimPrefix(name, "-")
		if !dashed || name == "" {
			break
		}
		name, value, given := strings.Cut(name, "=")
		n := 1
		switch {
		case given:
		case slices.Contains(api.Booleans(), name):
			value = "true"
		case len(args) > 1:
			value, n = args[1], 2
		}
		flags = append(flags, argument{name: name, value: value, words: args[:n]})
		args = args[n:]
	}
	return flags, args
}

// setArg gives a flag its value where it first stands, or behind the others, and drops every other one of that name. All
// else is left as it is and in order.
func setArg(args []string, name, value string) []string {
	flags, rest := parseArgs(args)
	var out []string
	set := false
	for _, f := range flags {
		switch {
		case f.name != name:
			out = append(out, f.words...)
		case !set:
			out, set = append(out, "--"+name+"="+value), true
		}
	}
	if !set {
		out = append(out, "--"+name+"="+value)
	}
	return append(out, rest...)
}
