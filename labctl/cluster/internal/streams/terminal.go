package streams

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"academy.example/lab/labctl/cluster/internal/process"
)

// lastOutput bounds the wait for what a terminal still holds when its program has ended.
const lastOutput = time.Second

// runOnTerminal runs spec on a terminal of its own, which in writes to and out shows, until it or ctx ends.
func runOnTerminal(ctx context.Context, spec process.Spec, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) (process.Exit, error) {
	control, terminal, err := pty.Open()
	if err != nil {
		return process.Exit{}, fmt.Errorf("open a terminal: %w", err)
	}
	defer func() { _ = control.Close() }() // ends what still copies
	spec.Terminal = terminal
	if !slices.ContainsFunc(spec.Env, func(e string) bool { return strings.HasPrefix(e, "TERM=") }) {
		spec.Env = append(slices.Clone(spec.Env), "TERM=xterm") // as container runtimes do
	}
	p, err := process.Start(spec)
	_ = terminal.Close() // the program has its own
	if err != nil {
		return process.Exit{}, err
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		if out != nil {
			_, _ = io.Copy(out, control) // ends with an error when nobody has the terminal any more
		}
	}()
	if in != nil {
		go func() { _, _ = io.Copy(control, in) }() // the client's end is seen elsewhere
	}
	go resizeTo(control, resize)
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Signal(syscall.SIGKILL) // ErrEnded is as good
	}
	exit := p.Exit()
	select {
	case <-shown:
	case <-ctx.Done():
	case <-time.After(lastOutput):
	}
	return exit, nil
}

// resizeTo gives the terminal the size of the client's, until the client is gone.
func resizeTo(control *os.File, sizes <-chan remotecommand.TerminalSize) {
	for size := range sizes {
		_ = pty.Setsize(control, &pty.Winsize{Rows: size.Height, Cols: size.Width}) // a program that has ended needs none
	}
}
