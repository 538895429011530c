package streams

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"academy.example/lab/labctl/cluster/internal/process"
)

// executor runs a program beside the container: its environment, its folder, and no longer than it or the client.
type executor struct{ target *Target }

var _ remotecommand.Executor = executor{}

// ExecInContainer returns a utilexec.CodeExitError if the program ends with another code than 0.
// With tty, it runs on a terminal of its own.
func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string,
	in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.target.Running, cancel)()
	spec := e.target.Exec
	spec.Path, spec.Args = e.target.Find(command[0]), command[1:]
	exit, err := run(ctx, spec, in, out, errOut, tty, resize)
	if err != nil {
		return err
	}
	if exit.Code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command ended with code %d", exit.Code), Code: exit.Code}
	}
	return nil
}

func run(ctx context.Context, spec process.Spec, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize,
) (process.Exit, error) {
	if tty {
		return runOnTerminal(ctx, spec, in, out, resize)
	}
	spec.Stdin, spec.Stdout, spec.Stderr = in, nil, nil
	if out != nil {
		spec.Stdout, spec.Stderr = out, out
	}
	if errOut != nil {
		spec.Stderr = errOut
	}
	return process.Run(ctx, spec)
}

// forwarder joins streams with the ports of the pod.
type forwarder struct{ target *Target }

var _ portforward.PortForwarder = forwarder{}

// PortForward carries stream to port on the pod's address until one side or the pod ends.
func (f forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(f.target.IP, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("forward to port %d: %w", port, err)
	}
	end := func() {
		_ = conn.Close() // ends both copies
		_ = stream.Close()
	}
	defer end()
	defer context.AfterFunc(f.target.Running, end)()
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(stream, conn) // how a connection ends is no error
	}()
	go func() {
		_, _ = io.Copy(conn, stream) // likewise
		if half, ok := conn.(*net.TCPConn); ok {
			_ = half.CloseWrite() // the other side may be gone
		}
	}()
	select {
	case <-back:
	case <-ctx.Done():
	}
	return nil
}
