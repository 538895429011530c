package process

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const programKey = "ACADEMY_TEST_PROGRAM"

// TestMain lets the test binary stand for the programs that are started here.
func TestMain(m *testing.M) {
	if program := os.Getenv(programKey); program != "" {
		os.Exit(run(program))
	}
	os.Exit(m.Run())
}

func run(program string) int {
	switch program {
	case "exit7":
		fmt.Print("out\nrest")
		fmt.Fprintln(os.Stderr, "err")
		return 7
	case "wait":
		fmt.Println("ready")
		forever()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "upper":
		data, _ := io.ReadAll(os.Stdin)
		fmt.Print(strings.ToUpper(string(data)))
	case "parent": // leaves a child in its group, which holds the standard output open
		child := exec.Command(os.Args[0])
		child.Env, child.Stdout = []string{programKey + "=wait"}, os.Stdout
		if err := child.Start(); err != nil {
			return 1
		}
	case "keeper": // starts a process as the agent does, then waits to be killed
		if _, err := Start(Spec{Path: os.Args[0], Env: []string{programKey + "=wait"}, Stdout: os.Stdout}); err != nil {
			return 1
		}
		forever()
	}
	return 0
}

func spec(program string) Spec {
	return Spec{Path: os.Args[0], Env: []string{programKey + "=" + program}}
}

// lines passes on each line of a program's output.
func lines(s *Spec) <-chan string {
	r, w := io.Pipe()
	s.Stdout = w
	found := make(chan string, 16)
	go func() {
		defer close(found)
		scanner := bufio.NewScanner(r)
		for scanner.Scan() {
			found <- scanner.Text()
		}
	}()
	return found
}

// forever blocks until a signal ends the program. Without a timer the runtime would call it a deadlock and end it itself.
func forever() { <-time.After(time.Hour) }

func TestExit(t *testing.T) {
	tests := map[string]struct {
		program string
		signals []syscall.Signal
		code    int
		signal  syscall.Signal
	}{
		"own code":            {program: "exit7", code: 7},
		"SIGTERM":             {program: "wait", signals: []syscall.Signal{syscall.SIGTERM}, code: 143, signal: syscall.SIGTERM},
		"SIGKILL":             {program: "wait", signals: []syscall.Signal{syscall.SIGKILL}, code: 137, signal: syscall.SIGKILL},
		"SIGTERM ignored":     {program: "deaf", signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, code: 137, signal: syscall.SIGKILL},
		"SIGKILL when frozen": {program: "wait", signals: []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL}, code: 137, signal: syscall.SIGKILL},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(test.program)
			out := lines(&s)
			p, err := Start(s)
			if err != nil {
				t.Fatal(err)
			}
			if len(test.signals) > 0 {
				<-out
			}
			for _, sig := range test.signals {
				if err := p.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			if exit := p.Exit(); exit.Code != test.code || exit.Signal != test.signal || exit.At.Before(p.Started()) {
				t.Errorf("exit = %+v, want code %d, signal %d", exit, test.code, test.signal)
			}
			if err := p.Signal(syscall.SIGTERM); err != ErrEnded {
				t.Errorf("signal after the end: %v, want ErrEnded", err)
			}
		})
	}
}

func TestChildrenEndWithTheLeader(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := spec("parent")
	s.Stdout = w // a file is handed on as it is
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close() // only the group holds it now
	if exit := p.Exit(); exit.Code != 0 {
		t.Errorf("exit = %+v", exit)
	}
	_, _ = io.ReadAll(r) // returns when nobody holds the pipe any more
}

func TestStartError(t *testing.T) {
	for _, path := range []string{"/nonexistent/program", "sh"} { // the second is on the tests' PATH
		if _, err := Start(Spec{Path: path}); err == nil || !strings.HasPrefix(err.Error(), "start "+path+": ") {
			t.Errorf("error = %v", err)
		}
	}
}

func TestRunPassesInput(t *testing.T) {
	s := spec("upper")
	var out bytes.Buffer
	s.Stdin, s.Stdout = strings.NewReader("hello"), &out
	if exit, err := Run(t.Context(), s); err != nil || exit.Code != 0 || out.String() != "HELLO" {
		t.Errorf("exit %+v, error %v, output %q", exit, err, out.String())
	}
}

func TestRunEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := spec("deaf")
	out := lines(&s)
	go func() {
		<-out
		cancel()
	}()
	if exit, err := Run(ctx, s); err != nil || exit.Code != 137 {
		t.Errorf("exit %+v, error %v, want code 137", exit, err)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	if !diesWithParent {
		t.Skip("this platform cannot tie a child to its parent")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command(os.Args[0])
	keeper.Env, keeper.Stdout = []string{programKey + "=keeper"}, w
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close() // only the child holds it now
	scanner := bufio.NewScanner(r)
	if !scanner.Scan() {
		t.Fatal("the child did not start")
	}
	_ = keeper.Process.Kill() // it is ours and alive
	_ = keeper.Wait()
	if scanner.Scan() { // returns when nobody holds the pipe any more
		t.Errorf("unexpected output %q", scanner.Text())
	}
}

func TestSweep(t *testing.T) {
	tests := map[string]struct {
		change func(*record)
		killed int
	}{
		"same life":               {func(*record) {}, 1},
		"number given to another": {func(r *record) { r.Start = "other/1" }, 0},
		"no start known":          {func(r *record) { r.Start = "" }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := spec("wait")
			out := lines(&s)
			p, err := Start(s)
			if err != nil {
				t.Fatal(err)
			}
			<-out
			defer func() { _ = p.Signal(syscall.SIGKILL) }() // where the sweep leaves it
			writeRecord(t, dir, p, test.change)
			killed, err := Sweep(dir)
			if err != nil || killed != test.killed {
				t.Errorf("killed %d, error %v, want %d", killed, err, test.killed)
			}
			if test.killed == 1 && p.Exit().Code != 137 {
				t.Errorf("exit = %+v, want 137", p.Exit())
			}
			if killed, err := Sweep(dir); killed != 0 || err != nil {
				t.Errorf("second sweep killed %d, error %v", killed, err)
			}
		})
	}
	if killed, err := Sweep(filepath.Join(t.TempDir(), "none")); killed != 0 || err != nil {
		t.Errorf("sweep of no folder: %d, %v", killed, err)
	}
}

func writeRecord(t *testing.T, dir string, p *Process, change func(*record)) {
	t.Helper()
	start, err := startToken(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	r := record{PID: p.PID(), Start: start}
	change(&r)
	data := fmt.Appendf(nil, `{"pid":%d,"start":%q}`, r.PID, r.Start)
	if err := WriteFile(filepath.Join(dir, recordName), data); err != nil {
		t.Fatal(err)
	}
}

func TestRecordIsWhatSweepReads(t *testing.T) {
	dir := t.TempDir()
	s := spec("wait")
	out := lines(&s)
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	<-out
	if err := p.Record(dir); err != nil {
		t.Fatal(err)
	}
	if killed, err := Sweep(dir); killed != 1 || err != nil {
		t.Errorf("killed %d, error %v", killed, err)
	}
	if p.Exit().Code != 137 {
		t.Errorf("exit = %+v", p.Exit())
	}
}

func TestBackoff(t *testing.T) {
	second := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	tests := map[string]struct {
		runs []time.Duration // how long each run lasts
		want []time.Duration // the wait after each
	}{
		"short runs": {
			runs: []time.Duration{0, 0, 0, 0, 0, 0, 0, 0},
			want: []time.Duration{second(1), second(10), second(20), second(40), second(80), second(160), second(300), second(300)},
		},
		"forgotten after 600 s": {
			runs: []time.Duration{0, 0, second(601), 0, 0},
			want: []time.Duration{second(1), second(10), second(1), second(10), second(20)},
		},
		"not forgotten at 600 s": {
			runs: []time.Duration{0, 0, second(600)},
			want: []time.Duration{second(1), second(10), second(20)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b, now := KubeletBackoff(), time.Unix(0, 0)
			for i, run := range test.runs {
				now = now.Add(run)
				wait := b.Wait(now)
				if wait != test.want[i] {
					t.Errorf("wait %d = %s, want %s", i, wait, test.want[i])
				}
				now = now.Add(wait)
				b.Restarted(now)
			}
		})
	}
}
