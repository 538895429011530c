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
	for n := 1; n <= 18; n++ {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| LP-%d \\|.*\\| .*`Test[A-Z]\\w+`.* \\|$", n))
		if found := row.FindAll(page, -1); len(found) != 1 {
			t.Errorf("got %d rows with a test for LP-%d, want one", len(found), n)
		}
	}
}
