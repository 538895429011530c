package streams

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/remotecommand"
)

// onTerminal does what `kubectl exec -it` does, from a terminal of that size.
func (s *site) onTerminal(t *testing.T, size remotecommand.TerminalSize, in string, command ...string) (string, error) {
	t.Helper()
	query := url.Values{"command": command, "input": {"1"}, "output": {"1"}, "tty": {"1"}}
	target, err := url.Parse(s.url + "/exec/space/subject/main?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(s.config, "POST", target)
	if err != nil {
		t.Fatal(err)
	}
	keys, typist := io.Pipe() // a terminal's input has no end
	defer typist.Close()
	out := screen{shows: func() { go func() { _, _ = io.WriteString(typist, in) }() }}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: keys, Stdout: &out, Tty: true, TerminalSizeQueue: &sizes{size}})
	return out.text.String(), err
}

// screen calls shows when something appears on it.
type screen struct {
	text  bytes.Buffer
	shows func()
	once  sync.Once
}

// Write shows data.
func (s *screen) Write(data []byte) (int, error) {
	s.once.Do(s.shows)
	return s.text.Write(data)
}

// sizes tells one size, and no other after it.
type sizes struct{ remotecommand.TerminalSize }

// Next returns the size the first time.
func (s *sizes) Next() *remotecommand.TerminalSize {
	size := s.TerminalSize
	s.TerminalSize = remotecommand.TerminalSize{}
	if size.Width == 0 {
		return nil
	}
	return &size
}

func TestExecOnATerminal(t *testing.T) {
	s := newSite(t)
	tests := map[string]struct {
		command []string
		in      string
		want    string
	}{
		"it is one":         {command: []string{"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo $TERM $WORD"}, want: "xterm sesame\r\n"},
		"its size":          {command: []string{"sh", "-c", "until test \"$(stty size)\" = '33 99'; do :; done; echo sized"}, want: "sized\r\n"},
		"what is typed":     {command: []string{"sh", "-c", "echo on; read -r word; echo got $word"}, in: "hello\n", want: "got hello\r\n"},
		"control-c":         {command: []string{"sh", "-c", "trap 'echo interrupted; exit 0' INT; echo on; while :; do sleep 0.01; done"}, in: "\x03", want: "interrupted\r\n"},
		"it is controlling": {command: []string{"sh", "-c", "echo hello >/dev/tty"}, want: "hello\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := s.onTerminal(t, remotecommand.TerminalSize{Width: 99, Height: 33}, test.in, test.command...)
			if err != nil || !strings.HasSuffix(out, test.want) {
				t.Errorf("output %q, %v; want %q", out, err, test.want)
			}
		})
	}
	if _, err := s.onTerminal(t, remotecommand.TerminalSize{}, "", "sh", "-c", "exit 7"); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("exit code: %v", err)
	}
}
