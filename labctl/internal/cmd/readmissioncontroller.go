package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/readmission"
)

func (a *app) controllerCommand() *cobra.Command {
	var release bool
	var identity string
	c := &cobra.Command{
		Use:   "controller",
		Short: "Be the controller: contend for its Lease and answer the checks while leading, until Ctrl-C",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.readmissionController(c.Context(), identity, release)
		},
	}
	c.Flags().StringVar(&identity, "identity", "", "the name to contend under; empty takes one of this process")
	c.Flags().BoolVar(&release, "release-on-cancel", false, "write an empty holder at the end, which every reader of the heartbeat takes for a no")
	return c
}

func (a *app) readmissionController(ctx context.Context, identity string, release bool) error {
	l, err := a.open(ctx, func(string) {})
	if err != nil {
		return err
	}
	kueue, err := l.Kueue()
	if err != nil {
		return err
	}
	if identity == "" {
		identity = fmt.Sprintf("labctl-%d", os.Getpid())
	}
	answerer := readmission.Answerer{Kueue: kueue, Namespace: readmission.LeaseNamespace, Check: readmission.Check, Controller: readmission.Controller, Identity: identity}
	if err := answerer.There(ctx); err != nil {
		return notInstalled(err)
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(a.streams.Out, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
	}
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() { end(sight{l, answerer, say}.lost(running)) }()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	config := election.Config{Namespace: readmission.LeaseNamespace, Name: readmission.LeaseName, Identity: identity, Timing: api.Default(), ReleaseOnCancel: release}
	say("contending for Lease %s/%s as %s", config.Namespace, config.Name, identity)
	election.Plain{Config: config, Client: l.Client.CoordinationV1(), Log: quiet, Exit: func(int) {},
		Work: func(ctx context.Context) {
			say("leading: jobs are answered")
			said := ""
			answerer.Run(ctx, func(err error) {
				if text := timeline.Visible(err.Error()); text != said {
					said = text
					say("%s", text)
				}
			})
			say("no longer leading")
		}}.Run(election.Narrate(running, quiet))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return context.Cause(running)
}

// sight is what a controller keeps in sight besides its Lease: that there is something to be the controller of.
type sight struct {
	lab      *lab.Lab
	answerer readmission.Answerer
	say      func(format string, args ...any)
}

// lost returns when the lab or the check is gone, and why. That the API server does not answer is said once, and waited for.
func (s sight) lost(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for away := false; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := s.answerer.There(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			away = false
			continue
		case s.lab.Lost(ctx) != nil:
			return s.lab.Lost(ctx)
		case errors.Is(err, readmission.ErrNotThere) || apierrors.IsForbidden(err):
			return notInstalled(err)
		case !away:
			away = true
			s.say("%s; waiting for it", timeline.Visible(err.Error()))
		}
	}
}

// notInstalled adds what makes the check there.
func notInstalled(err error) error {
	if !errors.Is(err, readmission.ErrNotThere) {
		return err
	}
	return &provider.Problem{Err: fmt.Errorf("there is nothing to be the controller of: %w", err), Hint: "labctl readmission install"}
}
