package report

import (
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/timeline"
)

// A holder's identity, a note and a line of a log are anybody's to write: no control character of theirs is printed.
func TestReport_PrintsNoControlCharacters(t *testing.T) {
	const evil = "pod\x1b[2J\nerror: \u009b31m"
	holder, transitions := evil, 4
	f := NewFailover(Header{Provider: evil, Operator: evil, Lease: evil, Election: evil, Identity: evil}, []timeline.Trial{{Mode: evil, Class: timeline.Unknown, HolderBefore: evil, HolderAfter: &holder,
		TransitionsAfter: &transitions, Kubectl: evil, Void: evil, Errors: []string{evil}}}, "run")
	f.Cut = evil
	var text, page strings.Builder
	if err := Text(&text, f); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&page, f); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text.String(), page.String()} {
		if strings.ContainsAny(got, "\x1b\u009b") || strings.Contains(got, "\nerror: ") || !strings.Contains(got, `\x1b[2J`) {
			t.Errorf("got %q", got)
		}
	}
}
