// Command academy-mutants is academy-operator with a fault: one of those that public reports tell of, by name. labctl runs it
// in the operator's place to see whether its checks notice.
//
//	academy-mutants --mutant NAME [the flags of academy-operator]
//
// It is wired as the operator is, and shares its election and its work; only what the fault needs is different (faults.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/internal/serve"
	"academy.example/lab/operator/internal/work"
	"academy.example/lab/operator/lease/election"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Exit); err != nil && !errors.Is(err, flag.ErrHelp) {
		for _, p := range api.Problems(err) {
			fmt.Fprintf(os.Stderr, "error: %s\nhint: %s\n", p.What, p.Hint)
		}
		os.Exit(api.ExitCannotRun)
	}
}

// options is the command line: what of the operator's own a fault needs.
type options struct {
	mutant     string
	lock       election.Config
	address    string
	kubeconfig string
	namespace  string
}

// parse reads the flags. Those of academy-operator that a mutant has no use for are taken and ignored. What the operator
// refuses is not refused: some faults are just that.
func parse(args []string, getenv func(string) string) (options, error) {
	o := options{namespace: getenv(api.EnvPodNamespace)}
	timing := api.Default()
	fs := flag.NewFlagSet(api.MutantProgram, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.mutant, api.FlagMutant, "", "one of "+strings.Join(api.Mutants(), ", "))
	fs.DurationVar(&o.lock.Timing.LeaseDuration, api.FlagLeaseDuration, timing.LeaseDuration, "")
	fs.DurationVar(&o.lock.Timing.RenewDeadline, api.FlagRenewDeadline, timing.RenewDeadline, "")
	fs.DurationVar(&o.lock.Timing.RetryPeriod, api.FlagRetryPeriod, timing.RetryPeriod, "")
	fs.StringVar(&o.lock.Name, api.FlagLeaseName, api.DefaultName, "")
	fs.StringVar(&o.lock.Namespace, api.FlagLeaseNamespace, o.namespace, "")
	fs.BoolVar(&o.lock.ReleaseOnCancel, api.FlagReleaseOnCancel, true, "")
	fs.StringVar(&o.address, api.FlagBindAddress, net.JoinHostPort(getenv(api.EnvPodIP), fmt.Sprint(api.DefaultPort)), "")
	fs.StringVar(&o.kubeconfig, api.FlagKubeconfig, getenv("KUBECONFIG"), "")
	for _, name := range []string{api.FlagElection, api.FlagIdentity, api.FlagOnLoss} {
		fs.String(name, "", "")
	}
	for _, name := range api.Booleans() {
		if fs.Lookup(name) == nil {
			fs.Bool(name, true, "")
		}
	}
	if err := fs.Parse(args); err != nil {
		return o, api.Problem{What: err.Error(), Hint: api.MutantProgram + " --" + api.FlagMutant + " " + api.MutantWorksOn}
	}
	if !slices.Contains(api.Mutants(), o.mutant) {
		return o, api.Problem{What: fmt.Sprintf("--%s=%s is unknown; there are %s", api.FlagMutant, o.mutant, strings.Join(api.Mutants(), ", ")),
			Hint: "--" + api.FlagMutant + "=" + api.MutantWorksOn}
	}
	var err error
	o.lock.Identity, _, err = election.Identity(api.IdentityPod, "", getenv)
	return o, err
}

// run runs one replica until it exits.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer, exit func(int)) error {
	o, err := parse(args, getenv)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(out, nil)).With(api.KeyIdentity, o.lock.Identity)
	clients, err := connect(o)
	if err != nil {
		return err
	}
	worker := work.New(work.Config{Namespace: o.namespace, Identity: o.lock.Identity, LeaseNamespace: o.lock.Namespace, LeaseName: o.lock.Name,
		Token: election.Token, StampFirst: true, ConfigMaps: clients.work.core, Leases: clients.work.coordination, Log: log})
	signalled := sync.OnceFunc(func() { log.Info(api.MessageSignal) })
	replica := replica{options: o, clients: clients, worker: worker, log: log, exit: func(code int) {
		if ctx.Err() != nil {
			signalled() // an exit that follows at once must not come before it
		}
		log.Info(api.MessageExiting, api.KeyCode, code)
		exit(code)
	}}
	if err := replica.answer(ctx); err != nil {
		return err
	}
	log.Info(api.MessageStarted, "mutant", o.mutant, "timing", o.lock.Timing)
	context.AfterFunc(ctx, signalled)
	go worker.Watch(ctx)
	replica.contend(election.Narrate(ctx, log))
	return nil
}

// replica is one running mutant.
type replica struct {
	options options
	clients clients
	worker  *work.Worker
	log     *slog.Logger
	exit    func(code int)
}

// answer serves probes and metrics, as the operator does unless the fault is there.
func (r replica) answer(ctx context.Context) error {
	if r.options.mutant == api.MutantReadyIsLeader {
		return r.answerIfLeading(ctx)
	}
	_, err := serve.Start(ctx, serve.Config{Address: r.options.address, Identity: r.options.lock.Identity,
		Leading: r.worker.Leading, Objects: r.worker.Objects, Alive: r.worker.Alive, Log: r.log})
	return err
}

// guarded is the operator's own election, with exit on loss, for faults that lie elsewhere.
func (r replica) guarded(ctx context.Context) {
	err := election.WithLease(ctx, election.Guarded{Config: r.options.lock, Guards: api.AllGuards(), Client: r.clients.lock.coordination, Log: r.log},
		election.Controller{Name: "work", Run: func(ctx context.Context) error { r.worker.Lead(ctx); return nil }})
	if ctx.Err() != nil {
		r.exit(api.ExitStopped)
		return
	}
	r.log.Error(api.MessageLost, api.KeyReason, fmt.Sprint(err))
	r.exit(api.ExitLost)
}

// plain is the course's election with work and an exit of the fault's own.
func (r replica) plain(ctx context.Context, work func(context.Context), exit func(int)) {
	election.Plain{Config: r.options.lock, Client: r.clients.lock.coordination, Work: work, Exit: exit, Log: r.log}.Run(ctx)
}

// forever never returns: the process is ended from outside.
func forever() { time.Sleep(1<<63 - 1) }
