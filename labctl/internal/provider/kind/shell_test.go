package kind

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// localNode is a docker whose nodes are this machine. As with the real one, what it runs is not its own process: with
// docker killed, the command loses its input and no more.
const localNode = `[ "$1" = exec ] && shift 3 && "$@"; exit $?`

func TestIn_OneShellForAllThatIsAsked(t *testing.T) {
	fakeDocker(t, localNode)
	p := &Provider{}
	defer p.closeShells()
	first, err := p.in(t.Context(), "node", "echo $$; echo two")
	if err != nil || !strings.HasSuffix(first, "\ntwo") {
		t.Fatalf("got %q, %v", first, err)
	}
	again, err := p.in(t.Context(), "node", "echo $$; echo two")
	if err != nil || again != first {
		t.Errorf("got %q, %v; want the same shell, %q", again, err, first)
	}
	if other, err := p.in(t.Context(), "node"+slow, "echo $$; echo two"); err != nil || other == first {
		t.Errorf("what takes long shares the shell of what must be quick: %q, %v", other, err)
	}
	if out, err := p.in(t.Context(), "node", "echo no good >&2; false"); err == nil || !strings.Contains(err.Error(), "no good") {
		t.Errorf("a failure: got %q, %v", out, err)
	}
}

func TestIn_AShellThatEndedOrHangsIsReplaced(t *testing.T) {
	fakeDocker(t, localNode)
	p := &Provider{}
	defer p.closeShells()
	if _, err := p.in(t.Context(), "node", "exit 3"); !errors.Is(err, errShell) {
		t.Errorf("got %v, want the shell's end", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := p.in(short, "node", "sleep 5"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the time limit", err)
	}
	if out, err := p.in(t.Context(), "node", "echo here"); err != nil || out != "here" {
		t.Errorf("after both: got %q, %v", out, err)
	}
}

func TestNodeProbe_AsksTheOpenShell(t *testing.T) {
	fakeDocker(t, localNode)
	p := &Provider{}
	defer p.closeShells()
	probe := p.NodeProbe(provider.Cluster{Name: "lab"})
	for range 3 {
		if err := probe(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestFollow_TheCommandEndsWithItsReader(t *testing.T) {
	fakeDocker(t, localNode)
	ctx, cancel := context.WithCancel(t.Context())
	var pid int
	err := follow(ctx, "node", "sh -c 'echo $$; exec sleep 60'", eachLineTo(func(line string) {
		pid, _ = strconv.Atoi(line) // 0 is checked below
		cancel()
	}))
	if !errors.Is(err, context.Canceled) || pid < 2 {
		t.Fatalf("got %v, pid %d", err, pid)
	}
	lives := func() bool { // one that nobody has reaped yet is gone all the same
		state, err := exec.Command("/bin/ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return err == nil && !strings.HasPrefix(string(state), "Z")
	}
	for deadline := time.Now().Add(5 * time.Second); lives(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
}

func eachLineTo(on func(string)) func(io.Reader) error {
	return func(out io.Reader) error {
		return eachLine(out, func(line string) error { on(line); return nil })
	}
}
