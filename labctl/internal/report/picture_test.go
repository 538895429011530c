package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const picturePath = "../../../docs/pictures/report.svg"

// TestPicture holds docs/pictures/report.svg, which README shows, to the page of a recorded run: its waterfall, with the page's own style.
func TestPicture(t *testing.T) {
	runs, err := filepath.Glob("../../../exercises/03-time-a-forced-failover/testdata/runs/*")
	if err != nil || len(runs) != 1 {
		t.Fatalf("got the runs %v, %v; want one", runs, err)
	}
	f, about, events := readRun(t, runs[0])
	got := waterfallOf(t, write(t, f, about, events))
	if *update {
		if err := os.WriteFile(picturePath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picturePath)
	if err != nil || got != string(want) {
		t.Errorf("%s is not what the page has (%v); run make docs and look at it", picturePath, err)
	}
}

// waterfallOf takes the first trial's waterfall out of a page and makes a file of it.
func waterfallOf(t *testing.T, page string) string {
	t.Helper()
	patterns := between(t, page, "<defs>", "</defs>")
	figure := between(t, page, `<svg class="picture" role="img" aria-labelledby="waterfall-1-t waterfall-1-d" width="100%" height="`, "\n<figcaption>")
	height, shapes, _ := strings.Cut(figure, `">`)
	const width = 860
	var tall int
	if _, err := fmt.Sscan(height, &tall); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">`+"\n<style>\n%s\n.paper { fill: var(--paper); }\n</style>\n<defs>%s</defs>\n", width, tall, strings.TrimSpace(htmlStyle), patterns) +
		`<rect class="paper" width="100%" height="100%" rx="8" />` + "\n" + strings.TrimSuffix(shapes, "</svg>") + "</svg>\n"
}

// between returns what stands between two marks.
func between(t *testing.T, text, from, to string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, from)
	inner, _, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("the page has no %q … %q", from, to)
	}
	return inner
}
