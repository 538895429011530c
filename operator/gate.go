package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	batchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	"k8s.io/client-go/rest"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/internal/terraform"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/gate"
)

// gateOptions is the command line of `academy-operator gate`.
type gateOptions struct {
	lock       election.Config
	kubeconfig string
	image      string
	gated      bool
	pause      time.Duration
}

// runGate runs a manager of the operation gate: it contends for the leader Lease, and reconciles while it leads.
func runGate(ctx context.Context, p process) error {
	if len(p.args) > 1 && p.args[1] == api.GateJobCommand {
		return doGateJob(ctx, p)
	}
	o, problems := parseGate(p.args[1:], p.getenv, p.stderr)
	if errors.Is(problems, flag.ErrHelp) {
		return problems
	}
	config, err := restConfig(o.kubeconfig, p.getenv)
	if err := errors.Join(problems, err); err != nil {
		return err
	}
	log := newLog(p.stdout).With(api.KeyIdentity, o.lock.Identity)
	sayWarningsOfLibraries(log)
	controller, lock, err := gateClients(config, o, log)
	if err != nil {
		return err
	}
	log.Info(api.MessageStarted, "lease", o.lock.Namespace+"/"+o.lock.Name, "timing", o.lock.Timing, "clusterOperationGate", o.gated)
	guarded := election.Guarded{Config: o.lock, Guards: api.AllGuards(), Client: lock.coordination, Log: log}
	err = election.WithLease(ctx, guarded, election.Controller{Name: "gate", Run: controller.Run})
	code := api.ExitLost
	if ctx.Err() != nil {
		code = api.ExitStopped
	} else if err != nil {
		log.Error(api.MessageLost, api.KeyReason, err.Error())
	}
	log.Info(api.MessageExiting, api.KeyCode, code)
	p.exit(code)
	return nil
}

// gateClients makes two clients, as a replica has them: one for the leader Lease, and one for everything else, which sends no write of a
// leadership that is over.
func gateClients(config *rest.Config, o gateOptions, log *slog.Logger) (*terraform.Controller, group, error) {
	config.Wrap(tellForbidden(log))
	lockConfig, work := rest.CopyConfig(config), rest.CopyConfig(config)
	lockConfig.UserAgent, work.UserAgent = api.Program+"/lock", api.Program+"/gate"
	work.QPS, work.Burst, work.Timeout = 100, 200, gate.PassLimit
	lock, err := newGroup(lockConfig)
	if err != nil {
		return nil, lock, err
	}
	watches := rest.CopyConfig(work)
	watches.Timeout = 0 // a watch stays open; each request of a pass is bounded by the pass
	watches.Wrap(gated)
	work.Wrap(gated)
	client, err := newGroup(work)
	if err != nil {
		return nil, lock, err
	}
	jobs, err := batchv1.NewForConfig(work)
	if err != nil {
		return nil, lock, fmt.Errorf("make client: %w", err)
	}
	objects, err := dynamic.NewForConfig(watches)
	if err != nil {
		return nil, lock, fmt.Errorf("make client: %w", err)
	}
	namespace := o.lock.Namespace
	return &terraform.Controller{
		Namespace: namespace, Client: objects, Jobs: jobs.Jobs(namespace), Secrets: client.core.Secrets(namespace), Events: client.core.Events(namespace),
		Gate:  gate.Gate{API: gate.Client{Leases: client.coordination.Leases(namespace), Jobs: jobs.Jobs(namespace)}, Off: !o.gated, Log: log},
		Image: o.image, Pause: o.pause, Log: log,
	}, lock, nil
}

// parseGate reads flags and environment. The error joins everything that is wrong, or is flag.ErrHelp.
func parseGate(args []string, getenv func(string) string, usage io.Writer) (gateOptions, error) {
	o := gateOptions{lock: election.Config{Name: api.GateName, ReleaseOnCancel: true, Timing: api.Default()}}
	o.lock.Namespace = cmp.Or(getenv(api.EnvPodNamespace), api.DefaultNamespace)
	fs := flag.NewFlagSet(api.Program+" "+api.GateCommand, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&o.gated, api.FlagClusterGate, true, "keep the operations of a cluster and of its machines apart; without it each object has one Job at a time, and no more")
	fs.StringVar(&o.image, "job-image", api.DefaultImage, "image of the Jobs: the operator's own")
	fs.DurationVar(&o.pause, api.FlagGatePause, 0, "for exercises: how long to wait between the leases and the Job; below "+gate.PassLimit.String())
	fs.DurationVar(&o.lock.Timing.LeaseDuration, api.FlagLeaseDuration, o.lock.Timing.LeaseDuration, "of the leader Lease")
	fs.DurationVar(&o.lock.Timing.RenewDeadline, api.FlagRenewDeadline, o.lock.Timing.RenewDeadline, "of the leader Lease")
	fs.DurationVar(&o.lock.Timing.RetryPeriod, api.FlagRetryPeriod, o.lock.Timing.RetryPeriod, "of the leader Lease")
	fs.StringVar(&o.kubeconfig, api.FlagKubeconfig, "", "path of a kubeconfig; otherwise the variable KUBECONFIG, otherwise the pod's service account")
	hint := api.Program + " " + api.GateCommand + " --help"
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(usage)
			fs.Usage()
			return o, err
		}
		return o, api.Problem{What: err.Error(), Hint: hint}
	}
	var problems []error
	if fs.NArg() > 0 {
		problems = append(problems, api.Problem{What: fmt.Sprintf("argument %q is not understood", fs.Arg(0)), Hint: hint})
	}
	if o.pause < 0 || o.pause >= gate.PassLimit {
		problems = append(problems, api.Problem{What: fmt.Sprintf("--%s=%s is not between 0 and %s, after which a pass ends", api.FlagGatePause, o.pause, gate.PassLimit), Hint: "--" + api.FlagGatePause + "=5s"})
	}
	name, _, err := election.Identity(api.IdentityPodUUID, "", getenv)
	o.lock.Identity = cmp.Or(name, "unknown")
	return o, errors.Join(append(problems, err, o.lock.Validate())...)
}

// doGateJob is what a Job's pod does: it takes its time, and fails if it is told to.
func doGateJob(ctx context.Context, p process) error {
	fs := flag.NewFlagSet(api.Program+" "+api.GateCommand+" "+api.GateJobCommand, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	lasts := fs.Duration("for", time.Second, "how long the work takes")
	fail := fs.Bool("fail", false, "fail at the end")
	if err := fs.Parse(p.args[2:]); err != nil {
		return api.Problem{What: err.Error(), Hint: api.Program + " " + api.GateCommand + " " + api.GateJobCommand + " --for=1s"}
	}
	timer := time.NewTimer(*lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		p.exit(api.ExitStopped)
		return nil
	}
	if *fail {
		return api.Problem{What: "the work failed, as it was told to", Hint: "spec.fail of the object says so"}
	}
	return nil
}
