// Command academy-operator is the subject of the lab: a small operator of which several replicas run and one leads.
//
//	academy-operator [flags]                run a replica; see --help
//	academy-operator exit-without-release   end the replica of this pod at once, as a crash would
//	academy-operator gate [flags]           run a manager of the operation gate
//	academy-operator gate job [flags]       do what a Job of the gate does: take its time
//	academy-operator measure-pairs [flags]  measure failovers of pairs of candidates, as a pod of the Job of labctl trials --shards
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"academy.example/lab/operator/api"
)

func main() {
	// First of all: a SIGTERM that came before this line would kill a replica that may already serve.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process on the spot

	err := run(ctx, process{args: os.Args[1:], getenv: os.Getenv, stdout: os.Stdout, stderr: os.Stderr, exit: os.Exit})
	if err != nil {
		explain(os.Stderr, err)
		os.Exit(api.ExitCannotRun)
	}
}

// process is what the operating system gives to run; tests give something else.
type process struct {
	args           []string
	getenv         func(string) string
	stdout, stderr io.Writer // logs; usage
	exit           func(code int)
}

// run carries out the command line. An error means that nothing was started.
func run(ctx context.Context, p process) error {
	if len(p.args) > 0 && p.args[0] == api.ExitCommand {
		return throwExit(ctx, p)
	}
	start := runReplica
	if len(p.args) > 0 && p.args[0] == api.PairsCommand {
		start = measurePairs
	}
	if len(p.args) > 0 && p.args[0] == api.GateCommand {
		start = runGate
	}
	err := start(ctx, p)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

// explain prints each problem of err, and below it what to type.
func explain(w io.Writer, err error) {
	for _, problem := range api.Problems(err) {
		fmt.Fprintf(w, "error: %s\n", problem.What)
		if problem.Hint != "" {
			fmt.Fprintf(w, "hint: %s\n", problem.Hint)
		}
	}
}
