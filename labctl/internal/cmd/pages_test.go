package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// repository is where README.md lies, from this package.
const repository = "../../.."

// pageLine is one line of a page that a reader may type.
type pageLine struct {
	page string // its path, from the repository
	n    int    // its line there
	text string
}

func (l pageLine) String() string { return fmt.Sprintf("%s:%d: %s", l.page, l.n, l.text) }

// typed are the lines of a command block: indented by four spaces, or after a prompt, beginning with a program that the pages use.
var typed = regexp.MustCompile(`^(?:    |.*\$ )((?:[A-Z_]+=\S+ )*(?:bin/labctl|labctl|kubectl|make|go|eval|cd|export) \S.*)$`)

// remark is what stands behind a command.
var remark = regexp.MustCompile(`\s+#.*$`)

// pages returns the paths of everything that the project has to read.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "checklists/*.md", "exercises/*.md", "exercises/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// linesOf returns the lines of a page's command blocks.
func linesOf(t *testing.T, path string) (lines []pageLine) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Rel(repository, path)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(data), "\n")
	for i := 0; i < len(all); i++ {
		m := typed.FindStringSubmatch(all[i])
		if m == nil {
			continue
		}
		l := pageLine{page, i + 1, remark.ReplaceAllString(m[1], "")}
		for strings.Count(l.text, "'")%2 == 1 && strings.HasPrefix(all[i+1], "    ") { // a quoted text of several lines
			i++
			l.text += "\n" + all[i][4:]
		}
		lines = append(lines, l)
	}
	return lines
}

// stubs make a shell say what it would have run, instead of running it.
const stubs = `
say() { local all; printf -v all '%s\037' "$@"; printf '%s\036' "$all" >&3; }
for program in labctl kubectl make go cd jq head tail cut grep; do eval "$program() { say $program \"\$@\"; }"; done
eval() { :; }
`

// argvs returns what a shell would run for the line, each with its words.
func argvs(t *testing.T, l pageLine) (all [][]string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "argv")
	c := exec.Command("bash", "-euc", stubs+strings.ReplaceAll(strings.ReplaceAll(l.text, "bin/labctl", "labctl"), "…", ""))
	c.Env, c.Dir = []string{"PATH=/nowhere"}, dir // some lines write their output to a file
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.ExtraFiles = []*os.File{out}
	if told, err := c.CombinedOutput(); err != nil {
		t.Errorf("%s\nno shell can run this: %v: %s", l, err, told)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range strings.Split(strings.TrimSuffix(string(data), "\036"), "\036") {
		if words := strings.Split(one, "\037"); len(words) > 1 {
			all = append(all, words[:len(words)-1])
		}
	}
	return all
}

// TestPages_CommandsExist holds every command block of every page to the programs: each labctl command is there and takes those flags
// and arguments, each make target exists, each test that is named by -run exists.
func TestPages_CommandsExist(t *testing.T) {
	targets, tests := makeTargets(t), testNames(t)
	n := 0
	for _, page := range pages(t) {
		for _, line := range linesOf(t, page) {
			for _, argv := range argvs(t, line) {
				n++
				if err := typable(argv, targets, tests); err != nil {
					t.Errorf("%s\n%v", line, err)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("only %d commands were found in the pages: the pattern does not see them any more", n)
	}
}

// typable returns why a command can't be typed, nil if it can.
func typable(argv, targets []string, tests string) error {
	switch argv[0] {
	case "labctl":
		return takes(argv[1:])
	case "make":
		for _, word := range argv[1:] {
			if !strings.Contains(word, "=") && !slices.Contains(targets, word) {
				return fmt.Errorf("there is no target %s in the Makefile", word)
			}
		}
	case "go":
		for i, word := range argv {
			if word != "-run" {
				continue
			}
			for _, name := range strings.Split(argv[i+1], "|") {
				if !regexp.MustCompile(name).MatchString(tests) {
					return fmt.Errorf("no test is called %s", name)
				}
			}
		}
	}
	return nil
}

// takes returns why labctl does not take these arguments.
func takes(args []string) error {
	a := &app{self: "labctl", providers: providers()}
	c, rest, err := a.root().Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if help, _ := c.Flags().GetBool("help"); help {
		return nil
	}
	if !c.Runnable() || c.HasSubCommands() && len(c.Flags().Args()) > 0 {
		return fmt.Errorf("there is no command %q", strings.Join(args, " "))
	}
	return c.ValidateArgs(c.Flags().Args())
}

func makeTargets(t *testing.T) (targets []string) {
	t.Helper()
	data, err := os.ReadFile(repository + "/Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(data), -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// testNames returns the names of all tests, one a line.
func testNames(t *testing.T) string {
	t.Helper()
	var names strings.Builder
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{"labctl", "operator"} {
		err := filepath.Walk(filepath.Join(repository, root), func(path string, _ os.FileInfo, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
				fmt.Fprintln(&names, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names.String()
}

// TestPages_WordsInPassing holds the commands that are named in a sentence, between backticks, to the programs: the command is there, and
// so is each flag. Their arguments may be left out.
func TestPages_WordsInPassing(t *testing.T) {
	mentioned := regexp.MustCompile("`labctl ([^`]+)`")
	n := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mentioned.FindAllStringSubmatch(strings.ReplaceAll(string(data), "\n", " "), -1) {
			n++
			for _, one := range strings.Split(m[1], "labctl ") {
				if err := mentions(strings.Fields(one)); err != nil {
					t.Errorf("%s: `labctl %s`: %v", page, m[1], err)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands were found", n)
	}
}

// mentions returns which word of a command is not there.
func mentions(words []string) error {
	c := (&app{self: "labctl", providers: providers()}).root()
	for _, word := range words {
		flag, isFlag := strings.CutPrefix(word, "--")
		flag, _, _ = strings.Cut(strings.TrimRight(flag, ",;.)"), "=")
		switch {
		case isFlag && flag != "" && !strings.HasSuffix(flag, "…") && lookup(c, flag) == nil:
			return fmt.Errorf("%s has no flag --%s", c.CommandPath(), flag)
		case isFlag:
		case c.HasSubCommands():
			next := child(c, word)
			if next == nil && !c.Runnable() || next == nil && !c.HasParent() {
				return fmt.Errorf("%s has no command %s", c.CommandPath(), word)
			}
			if next != nil {
				c = next
			}
		}
	}
	return nil
}

func child(c *cobra.Command, name string) *cobra.Command {
	for _, one := range c.Commands() {
		if slices.Contains(strings.Split(name, "|"), one.Name()) || one.HasAlias(name) {
			return one
		}
	}
	return nil
}

func lookup(c *cobra.Command, flag string) *pflag.Flag {
	if flag == "help" {
		return &pflag.Flag{}
	}
	for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags(), c.InheritedFlags()} {
		if f := set.Lookup(flag); f != nil {
			return f
		}
	}
	return nil
}
