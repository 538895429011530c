package kind

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// follow runs a command in a node and gives its output to read, until ctx ends or read or the command does, which is an
// error. The command ends with labctl, however that comes: the end closes the standard input that it waits on.
func follow(ctx context.Context, node, command string, read func(out io.Reader) error) error {
	cmd := exec.CommandContext(ctx, "docker", "exec", "-i", node, "sh", "-c", command+" & p=$!; exec 3<&0; { cat <&3 >/dev/null; kill $p; } & wait $p")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	keep, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer keep.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("follow %s: %w", node, err)
	}
	closed := context.AfterFunc(ctx, func() { // what the command has started may hold its output open
		keep.Close()
		out.Close()
	})
	defer closed()
	err = read(out)
	keep.Close()
	cmd.Process.Kill()
	cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("follow %s: %w", node, err)
}

// eachLine calls on for each line until the end, or its error.
func eachLine(out io.Reader, on func(line string) error) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if err := on(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}
