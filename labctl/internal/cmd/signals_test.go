package cmd

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestInterruptible_Process is the program of the test below: it tells that it is asked to end, and ends in order later.
func TestInterruptible_Process(t *testing.T) {
	if os.Getenv("LABCTL_TEST_SIGNALS") == "" {
		t.Skip("only as a process of its own")
	}
	ctx, stop := interruptible(t.Context())
	defer stop()
	os.Stdout.WriteString("ready\n")
	<-ctx.Done()
	os.Stdout.WriteString("ended\n")
	time.Sleep(time.Second) // the record gets its end
	os.Exit(ExitInterrupted)
}

func TestInterruptible_OnlyASecondCtrlCEndsAtOnce(t *testing.T) {
	const hup, term, ctrlC = syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT
	for name, c := range map[string]struct {
		signals []syscall.Signal
		inOrder bool
	}{
		"a terminal that closes":    {[]syscall.Signal{hup, hup}, true},
		"SIGTERM three times":       {[]syscall.Signal{term, term, term}, true},
		"one after the other":       {[]syscall.Signal{hup, term, hup}, true},
		"Ctrl-C, then the terminal": {[]syscall.Signal{ctrlC, hup, term}, true},
		"the terminal, then Ctrl-C": {[]syscall.Signal{hup, ctrlC}, true},
		"Ctrl-C twice":              {[]syscall.Signal{ctrlC, ctrlC}, false},
		"Ctrl-C after SIGTERM":      {[]syscall.Signal{term, ctrlC, ctrlC}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(c.signals, hup) && signal.Ignored(hup) {
				t.Skip("SIGHUP is ignored here, as nohup has it")
			}
			limited, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			program := exec.CommandContext(limited, os.Args[0], "-test.run=^TestInterruptible_Process$")
			program.Env = append(os.Environ(), "LABCTL_TEST_SIGNALS=1")
			out, err := program.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			line := make([]byte, len("ready\n"))
			if _, err := out.Read(line); err != nil {
				t.Fatal(err)
			}
			for _, s := range c.signals {
				if err := program.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			_ = program.Wait()
			if got := program.ProcessState.ExitCode() == ExitInterrupted; got != c.inOrder {
				t.Errorf("ended in order: %t, want %t (%s)", got, c.inOrder, program.ProcessState)
			}
		})
	}
}
