package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const stamp = "1970-01-01T00:00:00.000000001Z"

func testLog(t *testing.T) *Log {
	t.Helper()
	l, err := OpenLog(filepath.Join(t.TempDir(), "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	l.now = func() time.Time { return time.Unix(0, 1) }
	return l
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLogFormat(t *testing.T) {
	long := strings.Repeat("x", longestLine+3)
	tests := map[string]struct {
		writes []string
		want   string
	}{
		"whole lines":    {[]string{"a\nb\n"}, stamp + " stdout F a\n" + stamp + " stdout F b\n"},
		"split line":     {[]string{"a", "b\nc", "d\n"}, stamp + " stdout F ab\n" + stamp + " stdout F cd\n"},
		"empty line":     {[]string{"\n"}, stamp + " stdout F \n"},
		"no end of line": {[]string{"a\nrest"}, stamp + " stdout F a\n" + stamp + " stdout F rest\n"},
		"too long":       {[]string{long}, stamp + " stdout P " + long[:longestLine] + "\n" + stamp + " stdout F xxx\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := testLog(t)
			s := l.Stream("stdout")
			for _, text := range test.writes {
				if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("write = %d, %v", n, err)
				}
			}
			s.Flush()
			if got := content(t, l.path); got != test.want {
				t.Errorf("log = %q, want %q", got, test.want)
			}
		})
	}
}

func TestLogRotates(t *testing.T) {
	l := testLog(t)
	l.limit = 100
	second := 0
	l.now = func() time.Time { return time.Unix(int64(second), 0) }
	s := l.Stream("stderr")
	for second = range 6 { // two lines fill a file
		if _, err := fmt.Fprintf(s, "line %d\n", second); err != nil {
			t.Fatal(err)
		}
	}
	line := func(n int) string { return fmt.Sprintf("1970-01-01T00:00:%02d.000000000Z stderr F line %d\n", n, n) }
	if got := content(t, l.path); got != line(4)+line(5) {
		t.Errorf("log = %q", got)
	}
	if got := content(t, l.path+".old"); got != line(2)+line(3) {
		t.Errorf("old log = %q", got)
	}
	for range 4 { // all in the second after the last move
		_, _ = fmt.Fprintf(s, "line %d\n", second)
	}
	if got := content(t, l.path); got != line(4)+strings.Repeat(line(5), 5) {
		t.Errorf("log moved again within a second: %q", got)
	}
}

func TestLogGoesOnAndEnds(t *testing.T) {
	l := testLog(t)
	_, _ = l.Stream("stdout").Write([]byte("a\n"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Stream("stdout").Write([]byte("late\n")); n != 5 || err != nil {
		t.Errorf("write after close = %d, %v, want all taken", n, err)
	}
	again, err := OpenLog(l.path)
	if err != nil {
		t.Fatal(err)
	}
	again.now = l.now
	_, _ = again.Stream("stdout").Write([]byte("b\n"))
	if got := content(t, l.path); got != stamp+" stdout F a\n"+stamp+" stdout F b\n" {
		t.Errorf("log = %q", got)
	}
}
