package tui

import (
	"fmt"
	"strings"
)

// modesScreen lets a mode be picked.
func (m model) modesScreen() []string {
	t := m.theme
	lines := []string{t.heading("MODES", "what is done to the holder", m.width, true), ""}
	first := max(0, m.picked+1-max(1, m.height-4)) // below it the picked one would not be seen
	for i, d := range m.modes {
		if i < first {
			continue
		}
		line := fmt.Sprintf("%-13s %s", d.Mode, d.Action)
		if i == m.picked {
			line = t.on.Render(fit("> "+line, m.width))
		} else {
			line = "  " + line
		}
		lines = append(lines, cut(line, m.width))
	}
	return append(lines, "")
}

// confirmScreen says what is about to be done, and how to do the same by hand.
func (m model) confirmScreen() []string {
	t, d := m.theme, m.mode
	pod := m.holderPod()
	lines := []string{t.heading("CONFIRM", string(d.Mode), m.width, true), ""}
	add := func(name, text string) {
		for i, part := range wrap(text, m.width-10) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, t.dim.Render(fmt.Sprintf("%-9s ", name))+part)
		}
	}
	add("does", d.Action)
	add("to", pod)
	if line := d.KubectlLine(m.board.Config().Namespace, pod); line != "" {
		add("kubectl", line)
	} else {
		add("kubectl", d.NoKubectl)
	}
	add("lesson", d.Lesson)
	if m.board.Restarted() {
		add("before", "a pod whose container was restarted is replaced first: one more hand-over, and perhaps another holder")
	}
	add("first", "the lab settles, then a random while is waited out; it is timed and recorded like labctl failover --mode "+string(d.Mode))
	return append(lines, "")
}

// wrap breaks text at spaces; a word longer than the width is broken, too.
func wrap(text string, width int) []string {
	width = max(8, width)
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for len([]rune(word)) > width {
			if line != "" {
				lines = append(lines, line)
				line = ""
			}
			lines, word = append(lines, string([]rune(word)[:width])), string([]rune(word)[width:])
		}
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// holderPod is the pod that a mode would be done to: the present holder's, whatever moment is shown.
func (m model) holderPod() string {
	s := m.board.At(m.now)
	if s.Lease == nil || s.Lease.Holder == "" {
		return "nobody holds the Lease now"
	}
	name, _, _ := strings.Cut(s.Lease.Holder, "_")
	return name
}
