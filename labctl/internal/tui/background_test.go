package tui

import (
	"os"
	"testing"
	"time"
)

func TestLight(t *testing.T) {
	for answer, want := range map[string]bool{
		"\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62;c": true,
		"\x1b]11;rgb:fd/f6/e3\x1b\\\x1b[?1;2c":     true, // Solarized light
		"\x1b]11;rgb:0000/2b2b/3636\x1b\\":         false,
		"\x1b]11;nonsense\x07":                     false,
		"\x1b[?62;c":                               false, // it does not know the question
		"":                                         false,
	} {
		if got := light(answer); got != want {
			t.Errorf("%q: got %t, want %t", answer, got, want)
		}
	}
}

// A terminal that does not answer costs no more than the limit, and one that does costs nothing.
func TestListen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	begun := time.Now()
	if got := listen(int(r.Fd()), 30*time.Millisecond); len(got) > 0 || time.Since(begun) < 30*time.Millisecond {
		t.Errorf("silent: got %q after %s", got, time.Since(begun))
	}
	const answer = "\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62;c"
	if _, err := w.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	if got := listen(int(r.Fd()), time.Hour); string(got) != answer {
		t.Errorf("got %q, want %q", got, answer)
	}
}
