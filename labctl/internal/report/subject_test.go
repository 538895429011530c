package report

import (
	"strings"
	"testing"
)

func TestSubject_NamesAnotherProgram(t *testing.T) {
	h := Header{Provider: "embedded", Election: "guarded"}
	if got := subject(h); !strings.HasPrefix(got, "academy-operator on embedded") {
		t.Errorf("got %q", got)
	}
	h.Program = "academy-mutants --mutant=works-on\x1b[31m"
	if got := subject(h.Visible()); !strings.HasPrefix(got, "academy-mutants --mutant=works-on") || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}
