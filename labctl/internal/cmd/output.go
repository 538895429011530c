package cmd

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"academy.example/lab/labctl/internal/timeline"
)

// output is where results go. It remembers the first failure, so that no command can end well with half a result. Control
// characters that a text of the cluster brought in reach no terminal: they are written as escapes that can be seen, which in
// JSON mean the same.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if text := harmless(p); len(text) != len(p) {
		if _, o.err = o.to.Write(text); o.err != nil {
			return 0, o.err
		}
		return len(p), nil
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

// harmless writes control characters as escapes, but for the end of a line and tabs.
func harmless(p []byte) []byte {
	control := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }
	if bytes.IndexFunc(p, control) < 0 {
		return p
	}
	var out []byte
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		if control(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, p[:n]...)
		}
		p = p[n:]
	}
	return out
}

// lines makes a text of several lines visible, line by line.
func lines(text string) string {
	parts := strings.Split(text, "\n")
	for i := range parts {
		parts[i] = timeline.Visible(parts[i])
	}
	return strings.Join(parts, "\n")
}
