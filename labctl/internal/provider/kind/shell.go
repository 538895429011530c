package kind

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// shell is a shell in a node, kept open: a command in it costs half a millisecond, where a `docker exec` costs three
// hundred. One command runs at a time.
type shell struct {
	key   string        // the node's name, with slow for its second shell
	turn  chan struct{} // holds one token
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed at the shell's end
	asked int         // commands so far
}

// mark begins the line that follows a command's output.
const mark = "labctl-end"

// slow, added to a node's name, is the node's second shell: for what takes long, so that no action waits behind it.
const slow = " (slow)"

// shellIn returns the open shell of a node, or opens one.
func (p *Provider) shellIn(node string) (*shell, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shells[node]; s != nil {
		return s, nil
	}
	s, err := openShell(node)
	if err != nil {
		return nil, err
	}
	if p.shells == nil {
		p.shells = map[string]*shell{}
	}
	p.shells[node] = s
	return s, nil
}

// drop forgets a shell that can't be used any more.
func (p *Provider) drop(s *shell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shells[s.key] == s {
		delete(p.shells, s.key)
	}
	s.close()
}

func (p *Provider) closeShells() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shells {
		s.close()
	}
	p.shells = nil
}

func openShell(node string) (*shell, error) {
	s := &shell{key: node, turn: make(chan struct{}, 1), lines: make(chan string, 16)}
	s.turn <- struct{}{}
	s.cmd = exec.Command("docker", "exec", "-i", strings.TrimSuffix(node, slow), "sh")
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is not meant for it
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("open a shell in %s: %w", node, err)
	}
	go s.read(out)
	return s, nil
}

func (s *shell) read(out io.Reader) {
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 4<<20)
	for scan.Scan() {
		s.lines <- scan.Text()
	}
	close(s.lines)
	s.cmd.Wait() // the reader has seen the end
}

// close ends the shell. What it is running goes on in the node.
func (s *shell) close() {
	s.in.Close()
	s.cmd.Process.Kill()
	go func() {
		for range s.lines { // so that the reader can end
		}
	}()
}

// run runs a script and returns its output, both streams, and whether its exit status was 0.
func (s *shell) run(ctx context.Context, script string) (string, bool, error) {
	select {
	case <-s.turn:
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	defer func() { s.turn <- struct{}{} }()
	s.asked++
	end := fmt.Sprintf("%s-%d ", mark, s.asked)
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null 2>&1\nprintf '\\n%s%%s\\n' $?\n", script, end); err != nil {
		return "", false, errShell
	}
	var out []string
	for {
		select {
		case line, open := <-s.lines:
			if !open {
				return "", false, fmt.Errorf("%w: %s", errShell, strings.Join(out, " "))
			}
			if status, done := strings.CutPrefix(line, end); done {
				return strings.TrimSpace(strings.Join(out, "\n")), status == "0", nil
			}
			out = append(out, line)
		case <-ctx.Done():
			return "", false, fmt.Errorf("%w: %w", errShell, ctx.Err()) // its answer would be taken for the next one's
		}
	}
}

// errShell is wrapped by the error of a shell that has ended, or that has to be.
var errShell = errors.New("the shell in the node ended")

// in runs a script in a node's shell. An exit status other than 0 is an error with the output.
func (p *Provider) in(ctx context.Context, node, script string) (string, error) {
	s, err := p.shellIn(node)
	if err != nil {
		return "", err
	}
	out, good, err := s.run(ctx, script)
	if errors.Is(err, errShell) {
		p.drop(s)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("in %s: %w", node, err)
	case !good:
		return out, fmt.Errorf("in %s: %s", node, lastLine(out))
	}
	return out, nil
}
