package internal

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestRequirements_EachNamesATest keeps the table of requirements whole: a row for each number, with a test in it.
// TestDocs_NameTestsThatExist holds that the tests are there.
func TestRequirements_EachNamesATest(t *testing.T) {
	page, err := os.ReadFile("../../docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	for series, last := range map[string]int{"LP": 18, "HB": 12, "CL": 1, "OG": 24} {
		for n := 1; n <= last; n++ {
			row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %s-%d \\|.*\\| .*`Test[A-Z]\\w+`.* \\|$", series, n))
			if found := row.FindAll(page, -1); len(found) != 1 {
				t.Errorf("got %d rows with a test for %s-%d, want one", len(found), series, n)
			}
		}
	}
}
