package timeline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes a text of somebody else's safe to print: each control, formatting or other character that can't be seen, and
// each byte that is no UTF-8, becomes a visible escape such as \x1b. What is drawn with it is one line.
func Visible(text string) string {
	if visible(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// visible reports whether Visible leaves a text as it is.
func visible(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == 0x7f {
			return false
		} else if c >= utf8.RuneSelf {
			return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
		}
	}
	return true
}

// Visible returns the event with every text of it made visible. The parts that had to be changed are copies.
func (e Event) Visible() Event {
	e.Note = Visible(e.Note)
	e.Lease = seen(e.Lease, func(l *Lease) []*string { return []*string{&l.Holder, &l.ResourceVersion} })
	e.Pod = seen(e.Pod, func(p *Pod) []*string { return []*string{&p.Name, &p.UID, &p.Hostname, &p.Phase} })
	e.Process = seen(e.Process, func(p *Process) []*string { return []*string{&p.Pod, &p.UID} })
	e.Work = seen(e.Work, func(w *Work) []*string { return []*string{&w.Object, &w.Holder} })
	e.Log = seen(e.Log, func(l *Log) []*string { return []*string{&l.Pod, &l.UID, &l.Level, &l.Message, &l.Identity, &l.Raw} })
	e.Request = seen(e.Request, func(r *Request) []*string { return []*string{&r.Verb, &r.Pod, &r.UID} })
	e.Fault = seen(e.Fault, func(f *Fault) []*string {
		f.Standbys, f.StandbyUIDs = slices.Clone(f.Standbys), slices.Clone(f.StandbyUIDs)
		texts := []*string{&f.Mode, &f.Pod, &f.UID, &f.Kubectl, &f.Thief}
		for i := range f.Standbys {
			texts = append(texts, &f.Standbys[i])
		}
		for i := range f.StandbyUIDs {
			texts = append(texts, &f.StandbyUIDs[i])
		}
		return texts
	})
	return e
}

// Hide returns the event with hide applied to the texts that errors and replicas wrote: notes and log lines. A log line that
// had to be changed is a copy.
func (e Event) Hide(hide func(string) string) Event {
	e.Note = hide(e.Note)
	if e.Log != nil {
		if message, raw := hide(e.Log.Message), hide(e.Log.Raw); message != e.Log.Message || raw != e.Log.Raw {
			changed := *e.Log
			changed.Message, changed.Raw = message, raw
			e.Log = &changed
		}
	}
	return e
}

// Visible returns the trial with every text of it made visible.
func (t Trial) Visible() Trial {
	class, winner := string(t.Class), string(t.Winner)
	for _, text := range []*string{&t.Mode, &class, &winner, &t.HolderBefore, &t.Kubectl, &t.Void} {
		*text = Visible(*text)
	}
	t.Class, t.Winner = Class(class), Winner(winner)
	t.HolderAfter = seen(t.HolderAfter, func(holder *string) []*string { return []*string{holder} })
	t.Errors = slices.Clone(t.Errors)
	for i, text := range t.Errors {
		t.Errors[i] = Visible(text)
	}
	t.HandOvers = slices.Clone(t.HandOvers)
	for i := range t.HandOvers {
		h := &t.HandOvers[i]
		h.From, h.To, h.Cause, h.Evidence = Visible(h.From), Visible(h.To), Cause(Visible(string(h.Cause))), Visible(h.Evidence)
	}
	return t
}

// seen returns a part with its texts made visible: itself where they are already, which is nearly always.
func seen[T any](part *T, texts func(*T) []*string) *T {
	if part == nil {
		return nil
	}
	changed := *part
	dirty := false
	for _, text := range texts(&changed) {
		if !visible(*text) {
			*text, dirty = Visible(*text), true
		}
	}
	if !dirty {
		return part
	}
	return &changed
}
