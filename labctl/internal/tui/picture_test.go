package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// What the picture of the view shows: a recorded run, a few seconds after its first fault.
const (
	pictured     = "../../../exercises/03-time-a-forced-failover/testdata/runs/*"
	picture      = "../../../docs/pictures/watch.svg"
	pictureAfter = 9.0 // seconds after the fault
	svgWidth     = 100
	svgHeight    = 16
)

// TestPicture holds docs/pictures/watch.svg, which README shows, to the view.
func TestPicture(t *testing.T) {
	got := svg(recordedView(t))
	if *update {
		if err := os.WriteFile(picture, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picture)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the view draws (%v); run make docs and look at it", picture, err)
	}
}

// recordedView draws the recorded run's view.
func recordedView(t *testing.T) string {
	t.Helper()
	runs, err := filepath.Glob(pictured)
	if err != nil || len(runs) != 1 {
		t.Fatalf("got the runs %v, %v; want one", runs, err)
	}
	file, err := os.Open(filepath.Join(runs[0], "timeline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := timeline.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.ReadFile(filepath.Join(runs[0], "run.json"))
	var header report.Header
	if err == nil {
		err = json.Unmarshal(info, &header)
	}
	if err != nil {
		t.Fatal(err)
	}
	start := events[0].Wall
	header.Kubernetes = "v1.37.2" // the run was recorded before that was
	c := board.Config{Header: header, Namespace: "academy-build", SharedClock: true}
	s := &script{newModel(context.Background(), Options{Start: start, Config: c, Up: "labctl up"}, looks["dark"], newFeed())}
	s.send(Link{State: Live})
	until := -1.0
	for _, e := range events {
		if until > 0 && e.Seconds > until {
			break
		}
		if e.Kind == timeline.FaultIssued && until < 0 {
			until = e.Seconds + pictureAfter
		}
		s.send(eventsMsg{e})
	}
	s.send(tickMsg(start.Add(time.Duration(until * float64(time.Second)))))
	s.m.width, s.m.height = svgWidth, svgHeight
	return s.m.draw()
}

// colours are those of a dark terminal by their number in a control sequence.
var colours = map[string]string{"37": "#9aa4b2", "91": "#ff7b72", "92": "#7ee787", "93": "#e3b341", "94": "#79c0ff", "95": "#d2a8ff", "96": "#76e3ea"}

// sequence is a control sequence that sets colours.
var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// svg draws a view as a terminal shows it: each run of one colour is a text with a width of its own, so that columns stay columns.
func svg(view string) []byte {
	const cell, line, margin = 8.4, 18.0, 12.0
	lines := strings.Split(strings.TrimRight(view, "\n"), "\n")
	var b bytes.Buffer
	width, height := 2*margin+cell*svgWidth, 2*margin+line*float64(len(lines))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<title>labctl watch, %.0f seconds after the leader was killed</title>`+"\n", pictureAfter)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n"+`<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">`+"\n")
	for i, text := range lines {
		x, y := margin, margin+line*(float64(i)+0.75)
		style := "0"
		for text != "" {
			at := sequence.FindStringSubmatchIndex(text)
			run, rest, next := text, "", style
			if at != nil {
				run, rest, next = text[:at[0]], text[at[1]:], text[at[2]:at[3]]
			}
			if n := float64(ansi.StringWidth(run)); n > 0 {
				if strings.TrimSpace(run) != "" {
					writeRun(&b, x, y, n*cell, style, run)
				}
				x += n * cell
			}
			text, style = rest, next
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// writeRun writes one run of characters that look alike.
func writeRun(b *bytes.Buffer, x, y, width float64, style, run string) {
	const paper = "#0d1117"
	fill, weight, reversed := "#e6edf3", "", false
	for _, code := range strings.Split(style, ";") {
		switch {
		case colours[code] != "":
			fill = colours[code]
		case code == "1":
			weight = ` font-weight="bold"`
		case code == "7":
			reversed = true
		}
	}
	if reversed {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="18" fill="%s"/>`+"\n", x, y-13.5, width, fill)
		fill = paper
	}
	run = strings.ReplaceAll(html.EscapeString(run), " ", "\u00a0") // which no viewer draws together
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"%s>%s</text>`+"\n", x, y, width, fill, weight, run)
}
