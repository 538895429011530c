package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/internal/serve"
	"academy.example/lab/operator/internal/work"
	"academy.example/lab/operator/lease/election"
)

// runReplica runs one replica until it is asked to stop or loses the lease; p.exit is called then.
// It returns an error, all problems joined, if it could not start.
func runReplica(ctx context.Context, p process) error {
	o, problems := parse(p.args, p.getenv, p.stderr)
	if errors.Is(problems, flag.ErrHelp) {
		return problems
	}
	log := newLog(p.stdout).With(api.KeyIdentity, o.lock.Identity)
	clients, err := connect(o, p.getenv, log)
	if err := errors.Join(problems, err); err != nil {
		return err
	}
	sayWarningsOfLibraries(log)

	worker := work.New(work.Config{
		Namespace: o.podNamespace, Identity: o.lock.Identity,
		LeaseNamespace: o.lock.Namespace, LeaseName: o.lock.Name,
		Token: election.Token, StampFirst: o.election == api.ElectionGuarded, Unfenced: o.election == api.ElectionGuarded && !o.guards.Fence,
		ConfigMaps: clients.work.core, Leases: clients.work.coordination, Log: log,
	})
	server, err := serve.Start(ctx, serve.Config{
		Address: o.address, Identity: o.lock.Identity,
		Leading: worker.Leading, Objects: worker.Objects, Alive: worker.Alive, Log: log,
	})
	if err != nil {
		return err
	}
	sayStarted(log, o)
	signalled := sync.OnceFunc(func() {
		log.Info(api.MessageSignal, api.KeySignal, strings.TrimSuffix(context.Cause(ctx).Error(), " signal received"))
	})
	context.AfterFunc(ctx, signalled)
	openExitSwitch(ctx, p, log)

	go worker.Watch(ctx)
	r := replica{options: o, clients: clients, worker: worker, server: server, log: log, exit: func(code int) {
		if ctx.Err() != nil {
			signalled() // an exit that follows at once must not come before it
		}
		log.Info(api.MessageExiting, api.KeyCode, code)
		p.exit(code)
	}}
	switch o.election {
	case api.ElectionPlain:
		r.runPlain(ctx)
	case api.ElectionCoordinated:
		return r.runCoordinated(ctx)
	default:
		r.runGuarded(ctx)
	}
	return nil
}

func sayStarted(log *slog.Logger, o options) {
	log.Info(api.MessageStarted,
		"lease", o.lock.Namespace+"/"+o.lock.Name, "timing", o.lock.Timing, "election", o.election,
		"releaseOnCancel", o.lock.ReleaseOnCancel, "onLoss", o.onLoss, "guards", o.guards, "coordination", o.coordination, "identitySource", o.identitySource)
	if o.identitySource != api.EnvPodName && o.identitySource != "--"+api.FlagIdentityName {
		log.Warn("identity does not come from "+api.EnvPodName, api.KeyHint, "two processes of one identity both lead: set "+api.EnvPodName+" by the downward API")
	}
}

// openExitSwitch makes exit-without-release work. A replica without it is as good in all else, so trouble is only told.
func openExitSwitch(ctx context.Context, p process, log *slog.Logger) {
	path, err := serve.SwitchPath(p.getenv)
	if err == nil {
		err = serve.ListenForExit(ctx, path, func() {
			log.Info(api.MessageExiting, api.KeyCode, api.ExitUnreleased, api.KeyReason, api.ExitCommand)
			p.exit(api.ExitUnreleased)
		})
	}
	if err != nil {
		log.Info(api.MessageNoSwitch, api.KeyReason, err.Error())
	}
}

// throwExit is `academy-operator exit-without-release`.
func throwExit(ctx context.Context, p process) error {
	path, err := serve.SwitchPath(p.getenv)
	if err != nil {
		return api.Problem{
			What: fmt.Sprintf("find the exit switch: %v", err),
			Hint: fmt.Sprintf("run it inside the pod: kubectl -n %s exec POD -- %s %s", api.DefaultNamespace, api.Program, api.ExitCommand),
		}
	}
	if err := serve.ThrowExit(ctx, path); err != nil {
		return api.Problem{What: err.Error(), Hint: fmt.Sprintf("see whether the operator runs: kubectl -n %s get pods -l %s", api.DefaultNamespace, api.PodSelector)}
	}
	fmt.Fprintln(p.stdout, "the process has ended and has released nothing")
	return nil
}
