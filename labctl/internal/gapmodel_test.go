package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const gapModelPage = "../../docs/gap-model.md"

// TestGapModel_EachStatementHasOneTest holds that in the tables of docs/gap-model.md each row names one test, that no test is
// named by two rows, and that none is named elsewhere but this one. TestDocs_NameTestsThatExist holds that they are there.
func TestGapModel_EachStatementHasOneTest(t *testing.T) {
	page, err := os.ReadFile(gapModelPage)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Z]\\w*)`")
	const self = "TestGapModel_EachStatementHasOneTest"
	rows, seen := 0, map[string]bool{}
	for line := range strings.Lines(string(page)) {
		tests := named.FindAllStringSubmatch(line, -1)
		row := strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasSuffix(line, "| test |\n")
		switch {
		case row && len(tests) != 1:
			t.Errorf("got %d tests, want one: %s", len(tests), line)
		case row && seen[tests[0][1]]:
			t.Errorf("%s is named by two rows", tests[0][1])
		case row:
			rows++
			seen[tests[0][1]] = true
			if statement := strings.TrimSpace(strings.Split(line, "|")[len(strings.Split(line, "|"))-3]); !strings.HasSuffix(statement, ".") || strings.Contains(statement, ". ") {
				t.Errorf("not one sentence: %s", statement)
			}
		case len(tests) > 0 && (len(tests) > 1 || tests[0][1] != self):
			t.Errorf("a test is named outside of the tables: %s", line)
		}
	}
	if rows < 20 {
		t.Errorf("only %d statements are held by tests", rows)
	}
}

// TestTexts_AreQuotedAsTheyStand reads what the page quotes in the modules' source, where that is at hand.
func TestTexts_AreQuotedAsTheyStand(t *testing.T) {
	page, err := os.ReadFile(gapModelPage)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for where, file := range map[string][2]string{
		"flag help":       {"k8s.io/component-base", "config/options/leaderelectionconfig.go"},
		"package comment": {"k8s.io/client-go", "tools/leaderelection/leaderelection.go"},
	} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", file[0]).Output()
		if err != nil {
			t.Skip("the module's source is not at hand")
		}
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file[1]))
		if err != nil {
			t.Skip(err)
		}
		text := joined(string(source))
		for _, m := range regexp.MustCompile(`(?m)^\| "([^"]+)" \(`+where).FindAllStringSubmatch(string(page), -1) {
			found++
			if !strings.Contains(text, m[1]) {
				t.Errorf("%s does not say %q", file[1], m[1])
			}
		}
	}
	if found != 3 {
		t.Errorf("the page quotes %d sentences, want 3", found)
	}
}

// joined is a source in which strings and comments that go over several lines are one.
func joined(source string) string {
	source = regexp.MustCompile(`"\+\s*"`).ReplaceAllString(source, "")
	return regexp.MustCompile(`\n// ?`).ReplaceAllString(source, " ")
}
