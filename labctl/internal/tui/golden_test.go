package tui

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

var update = flag.Bool("update", false, "write the golden files")

// looks are the ways in which a view is drawn.
var looks = map[string]theme{"plain": themeOf(termenv.Ascii, true), "dark": themeOf(termenv.ANSI, true), "light": themeOf(termenv.ANSI, false)}

var sizes = [][2]int{{120, 40}, {80, 24}, {40, 12}, {20, 5}}

// TestView_Golden draws every scene at every size in every look, and the screens of the keys once.
func TestView_Golden(t *testing.T) {
	drawn := map[string]string{}
	for name, scene := range scenes {
		s := scene()
		for look, theme := range looks {
			m := s.m
			m.theme = theme
			drawn[name+"-"+look] = sections(t, m)
		}
	}
	for name, keys := range map[string]string{"help": "?", "modes": "m", "confirm": "f", "logs": "l", "filter": "/"} {
		s := scenes["live"]()
		s.m.modes, s.m.keys = allModes, newKeys(true, false)
		drawn["screen-"+name+"-plain"] = sections(t, s.press(keys).m)
	}
	s := scenes["forced"]()
	s.m.theme = themeOf(termenv.Ascii, true)
	s.m.theme.signs = ascii
	drawn["forced-ascii"] = sections(t, s.m)
	paused := scenes["forced"]().press("p", "left", "left", "left")
	drawn["screen-paused-plain"] = sections(t, paused.m)
	for name, got := range drawn {
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; write it with: go test ./labctl/internal/tui -update", err)
		} else if string(want) != got {
			t.Errorf("%s differs; got:\n%s", file, got)
		}
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, used := drawn[strings.TrimSuffix(filepath.Base(file), ".golden")]; !used {
			t.Errorf("%s belongs to no scene; the scenes are %v", file, slices.Sorted(maps.Keys(scenes)))
		}
	}
}

// sections draws a model at each size, and checks that nothing sticks out.
func sections(t *testing.T, m model) string {
	t.Helper()
	text := ""
	for _, size := range sizes {
		m.width, m.height = size[0], size[1]
		view := m.draw()
		lines := strings.Split(view, "\n")
		if len(lines) > m.height {
			t.Errorf("%d lines at %dx%d", len(lines), m.width, m.height)
		}
		for _, l := range lines {
			if w := ansi.StringWidth(l); w > m.width {
				t.Errorf("%d columns at %dx%d: %q", w, m.width, m.height, l)
			}
			text += strings.TrimRight(l, " ") + "\n"
		}
		text += fmt.Sprintf("==== %dx%d\n", m.width, m.height)
	}
	return text
}

// NO_COLOR means that a sign alone carries every meaning: nothing of what is drawn is a control sequence.
func TestView_WithoutColoursHasNoControlSequences(t *testing.T) {
	for name, scene := range scenes {
		if view := scene().m.draw(); strings.ContainsRune(view, 0x1b) {
			t.Errorf("%s has control sequences", name)
		}
	}
}

func TestView_TheHelpIsNeverCut(t *testing.T) {
	for name, scene := range scenes {
		m := scene().m
		for _, size := range [][2]int{{leastWidth, leastHeight}, {40, 12}, {80, 24}, {200, 60}} {
			m.width, m.height = size[0], size[1]
			lines := strings.Split(m.draw(), "\n")
			if footer := lines[len(lines)-1]; !strings.Contains(footer, "? help") || !strings.Contains(footer, "q quit") {
				t.Errorf("%s at %v: the footer is %q", name, size, footer)
			}
		}
	}
}
