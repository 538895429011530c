package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
)

// keyMap is every key of the view, in the order of the help.
type keyMap struct {
	help, quit, back, graceful, force, modes, logs, pause, left, right, pageLeft, pageRight, home, end key.Binding
	up, down, focus, zoomIn, zoomOut, slower, faster, filter, export, yes, suspend                     key.Binding
}

func bind(keys, name, what string) key.Binding {
	return key.NewBinding(key.WithKeys(strings.Fields(keys)...), key.WithHelp(name, what))
}

func newKeys(acts, replay bool) keyMap {
	k := keyMap{
		help: bind("?", "?", "help"), quit: bind("q ctrl+c", "q", "quit"), back: bind("esc", "esc", "back"),
		graceful: bind("g", "g", "graceful"), force: bind("f", "f", "forced"), modes: bind("m", "m", "modes"), logs: bind("l", "l", "logs"),
		pause: bind("p", "p", "pause"), left: bind("left", "←", "back in time"), right: bind("right", "→", "forth"),
		pageLeft: bind("pgup shift+left", "pgup", "a screen back"), pageRight: bind("pgdown shift+right", "pgdn", "a screen forth"),
		home: bind("home", "home", "the beginning"), end: bind("end", "end", "live"),
		up: bind("up", "↑", "up"), down: bind("down", "↓", "down"), focus: bind("tab", "tab", "next part"), zoomIn: bind("+ =", "+", "shorter columns"), zoomOut: bind("-", "-", "longer columns"),
		slower: bind("<", "<", "slower"), faster: bind(">", ">", "faster"), filter: bind("/", "/", "filter"), export: bind("e", "e", "export"),
		yes: bind("y enter", "y", "do it"), suspend: bind("ctrl+z", "ctrl-z", "suspend"),
	}
	for _, b := range []*key.Binding{&k.graceful, &k.force, &k.modes} {
		b.SetEnabled(acts)
	}
	k.slower.SetEnabled(replay)
	k.faster.SetEnabled(replay)
	if replay {
		k.pause.SetHelp("p", "pause/play")
		k.end.SetHelp("end", "last moment")
	}
	return k
}

// row writes keys with what they do, as many as fit. The first one is never left out.
func row(t theme, width int, bindings ...key.Binding) string {
	line := ""
	for i, b := range bindings {
		if !b.Enabled() {
			continue
		}
		part := t.strong.Render(b.Help().Key) + " " + t.dim.Render(b.Help().Desc)
		if i > 0 {
			part = "  " + part
		}
		if lineWidth(line)+lineWidth(part) > width && i > 0 {
			break
		}
		line += part
	}
	return line
}
