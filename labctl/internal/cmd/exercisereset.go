package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/manifests"
	"academy.example/lab/operator/api"
)

// resetReplicas is how many replicas the exercises begin with.
const resetReplicas = 2

func (a *app) exerciseResetCommand(k *course) *cobra.Command {
	return &cobra.Command{
		Use:   "reset [NN]",
		Short: "Begin an exercise anew: forget its answers, and bring the lab back as it was made",
		Args:  oneExercise,
		RunE:  func(c *cobra.Command, args []string) error { return a.exerciseReset(c, k, args) },
	}
}

func (a *app) exerciseReset(c *cobra.Command, k *course, args []string) error {
	err := a.openCourse(k)
	if k.damaged {
		fmt.Fprintf(a.streams.Err, "note: %s: it is kept as %s, and every exercise is forgotten\n", lines(err.Error()), lines(k.file+setAside))
		if err = os.Rename(k.file, k.file+setAside); err == nil {
			err = a.openCourse(k)
		}
		if err == nil && len(args) == 0 { // which one is the current one is forgotten, too
			return a.reset(c.Context(), nil, "every exercise is forgotten", "labctl exercise next")
		}
	}
	if err != nil {
		return err
	}
	e, err := k.pick(args)
	if err != nil {
		return err
	}
	forget := func() error {
		return k.change(func() error {
			k.progress.Reset(e)
			k.progress.Current = e.Name
			return nil
		})
	}
	return a.reset(c.Context(), forget, "exercise "+e.Number()+" is forgotten", "labctl exercise start "+e.Number())
}

func (a *app) resetCommand() *cobra.Command {
	var everything bool
	c := &cobra.Command{
		Use:   "reset",
		Short: "Bring the lab back as it was made: settings, permissions, two replicas, a new Lease",
		Long: "reset stops the operator, removes its Lease, so that leaseTransitions starts afresh, gives it its first settings and permissions\n" +
			"again and starts two replicas. With --all the progress in the exercises is forgotten as well, for the next group. Recorded\n" +
			"runs stay.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !everything {
				return a.reset(c.Context(), nil, "", cmp.Or(a.nextInExercise(), "labctl status"))
			}
			file, err := a.progressFile()
			if err != nil {
				return err
			}
			forget := func() error {
				if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
					return err
				}
				return nil
			}
			return a.reset(c.Context(), forget, "the progress is forgotten", "labctl exercise next")
		},
	}
	c.Flags().BoolVar(&everything, "all", false, "forget the progress in the exercises, too")
	return c
}

// reset brings the lab back, if there is one, and then forgets what else there is to forget, which done tells. A lab that can't be
// brought back keeps all of it.
func (a *app) reset(ctx context.Context, forget func() error, done, next string) error {
	a.left = "labctl reset"
	begun := time.Now()
	show := newProgress(a.streams.Err)
	defer show.Stop()
	l, err := a.open(ctx, show.Say)
	found := err == nil
	if errors.Is(err, provider.ErrNoLab) && done != "" {
		err, next = nil, "labctl up"
	}
	if found {
		err = a.removeGates(ctx, l)
	}
	if found && err == nil {
		err = resetLab(ctx, l)
	}
	if err == nil && forget != nil {
		err = forget()
	}
	show.Stop()
	if err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	if a.json {
		return report.JSON(a.streams.Out, map[string]any{"schema": report.Schema, "kind": "Reset", "lab": found, "seconds": took})
	}
	if done != "" {
		fmt.Fprintln(a.streams.Out, done)
	}
	if found {
		fmt.Fprintf(a.streams.Out, "lab %q is as it was made, after %.1f s: %s, %d replicas, leaseTransitions 0\n", a.name, took, replica.Default().Timing, resetReplicas)
	} else {
		fmt.Fprintf(a.streams.Out, "no lab %q is running, so there was none to bring back\n", a.name)
	}
	_, err = fmt.Fprintf(a.streams.Out, "next: %s\n", a.typed(next))
	return err
}

// resetLab stops the replicas, removes what they left, and starts them as the manifests say.
func resetLab(ctx context.Context, l *lab.Lab) error {
	if err := l.RemoveLanes(ctx); err != nil {
		return err
	}
	if err := l.Scale(ctx, 0); err != nil {
		return err
	}
	state, err := l.Deployment.State(ctx)
	if err != nil {
		return err
	}
	if err := removeLease(ctx, l, state.Settings.LeaseName); err != nil {
		return err
	}
	if err := ownProgram(ctx, l); err != nil {
		return err
	}
	if _, err := l.Set(ctx, firstSettings()); err != nil {
		return err
	}
	config, err := l.Cluster.Config()
	if err != nil {
		return err
	}
	if err := replica.Apply(ctx, config, manifests.FS, replica.Wanted{Replicas: resetReplicas}); err != nil {
		return err
	}
	return l.Scale(ctx, resetReplicas)
}

// firstSettings is the change to what a new operator has.
func firstSettings() replica.Change {
	first := replica.Default()
	change := replica.Change{Timing: &first.Timing, Election: &first.Election, Identity: &first.Identity, ReleaseOnCancel: &first.ReleaseOnCancel, OnLoss: &first.OnLoss}
	for i, g := range first.Guards.Each() {
		change.Guards[i] = g.On
	}
	return change
}

// removeLease deletes the Lease and, from the work objects, what its leaders wrote: a new Lease counts from 0, and leaders
// leave alone what carries a later number.
func removeLease(ctx context.Context, l *lab.Lab, name string) error {
	namespace := l.Deployment.Namespace
	if err := l.Client.CoordinationV1().Leases(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove Lease %s/%s: %w", namespace, name, err)
	}
	objects, err := l.Client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: api.LabelWork + "=true"})
	if err != nil {
		return fmt.Errorf("list the work objects: %w", err)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null,%q:null,%q:null,%q:null}}}`,
		api.AnnotationHolder, api.AnnotationTransition, api.AnnotationSequence, api.AnnotationWorkedAt)
	for _, o := range objects.Items {
		if _, err := l.Client.CoreV1().ConfigMaps(namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("clean ConfigMap %s/%s: %w", namespace, o.Name, err)
		}
	}
	return nil
}
