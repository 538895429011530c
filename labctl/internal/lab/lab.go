// Package lab conducts: it brings a lab up, runs trials from settling to the verdict, and records them. It owns the order
// of the steps; what each step does is owned by the packages it calls.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Lab is a running cluster with the operator on it.
type Lab struct {
	Provider   provider.Provider
	Cluster    provider.Cluster
	Client     kubernetes.Interface // each request is bounded by requestLimit
	Deployment replica.Deployment
	// Say is told what is being waited for. It is never nil.
	Say func(string)

	foreign *Foreign // set if Deployment is not the lab's own operator
	config  *rest.Config
	watcher kubernetes.Interface // without a bound: watches and logs stay open
}

// requestLimit bounds each request, so that an API server that hangs makes no command hang.
const requestLimit = 10 * time.Second

// Open finds a running lab. The error wraps provider.ErrNoLab if there is none.
func Open(ctx context.Context, p provider.Provider, name string, say func(string)) (*Lab, error) {
	cluster, err := p.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	return connect(p, cluster, say)
}

func connect(p provider.Provider, cluster provider.Cluster, say func(string)) (*Lab, error) {
	config, err := cluster.Config()
	if err != nil {
		return nil, err
	}
	watcher, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", cluster.Name, err)
	}
	config = rest.CopyConfig(config)
	config.Timeout = requestLimit
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to lab %s: %w", cluster.Name, err)
	}
	return &Lab{
		Provider: p, Cluster: cluster, Client: client, config: config, watcher: watcher, Say: say,
		Deployment: replica.Deployment{Client: client, Namespace: cmp.Or(cluster.Namespace, api.DefaultNamespace), Name: api.DefaultName},
	}, nil
}

// Up makes the lab, or completes one that runs already: control plane, manifests, ready replicas and a holder.
// Of an operator that is there already nothing is changed.
func Up(ctx context.Context, p provider.Provider, spec provider.Spec, manifests fs.FS, replicas int) (*Lab, error) {
	if err := p.Available(ctx); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		l, err := bringUp(ctx, p, spec, manifests, replicas)
		if err == nil || tries == 2 || refused(err) || !gone(ctx, p, spec.Name) {
			return l, err
		}
		spec.Progress("the lab ended while it was being completed; making it again")
	}
}

// refused reports whether a lab can't be made, in contrast to one that has gone away.
func refused(err error) bool {
	var problem *provider.Problem
	return errors.As(err, &problem) && !errors.Is(err, provider.ErrNoLab)
}

func bringUp(ctx context.Context, p provider.Provider, spec provider.Spec, manifests fs.FS, replicas int) (*Lab, error) {
	cluster, err := p.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	l, err := connect(p, cluster, spec.Progress)
	if err != nil {
		return nil, err
	}
	l.Say("applying the operator's manifests")
	if err := replica.Apply(ctx, l.config, manifests, replica.Wanted{Namespace: cluster.Namespace, Image: cluster.OperatorImage, Replicas: replicas}); err != nil {
		return nil, err
	}
	if cluster.Started {
		if err := l.giveBack(ctx); err != nil {
			return nil, err
		}
	}
	return l, l.WaitLed(ctx)
}

// giveBack writes an empty holder into a Lease that names none of the pods, as a leader does that releases: in a cluster that was
// just started such a record is of a life before, and would only be waited for. It keeps its count of transitions.
func (l *Lab) giveBack(ctx context.Context) error {
	state, err := l.state(ctx)
	if err != nil {
		return err
	}
	leases := l.Client.CoordinationV1().Leases(l.leaseNamespace())
	lease, err := leases.Get(ctx, state.Settings.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Lease %s/%s: %w", l.leaseNamespace(), state.Settings.LeaseName, err)
	}
	holder := observe.LeaseOf(lease).Holder
	if holder == "" || holdsOne(state.Pods, holder) {
		return nil
	}
	l.Say(fmt.Sprintf("the Lease names %s, which is none of the pods; writing that nobody holds it", timeline.Visible(holder)))
	lease.Spec.HolderIdentity = new(string)
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{FieldManager: "labctl"}); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("give Lease %s/%s back: %w", lease.Namespace, lease.Name, err)
	}
	return nil
}

// gone reports whether the lab has ended, or does so within the time that an orderly end takes.
func gone(ctx context.Context, p provider.Provider, name string) bool {
	const grace = 3 * time.Second
	for deadline := time.Now().Add(grace); time.Now().Before(deadline) && ctx.Err() == nil; {
		if _, err := p.Find(ctx, name); errors.Is(err, provider.ErrNoLab) {
			return true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
	return false
}

// lost returns the error that the lab is not there any more, nil as long as it is.
func (l *Lab) lost(ctx context.Context) error {
	if _, err := l.Provider.Find(ctx, l.Cluster.Name); errors.Is(err, provider.ErrNoLab) {
		return err
	}
	return nil
}

// Limits of waiting. They are generous, since a busy machine has needed ten times the usual; the usual is printed.
const (
	rolloutLimit = 3 * time.Minute
	pollEvery    = 25 * time.Millisecond
)

// WaitLed waits until the wanted replicas are ready and one of them holds the Lease.
func (l *Lab) WaitLed(ctx context.Context) error { return l.waitLed(ctx, rolloutLimit) }

func (l *Lab) waitLed(ctx context.Context, limit time.Duration) error {
	return l.wait(ctx, limit, l.led)
}

// led reports whether the wanted replicas are ready and one of them holds the Lease, or what is waited for.
func (l *Lab) led(ctx context.Context) (done bool, what string, err error) {
	state, err := l.state(ctx)
	if err != nil {
		return false, "", err
	}
	if !state.Settled && state.Ready >= state.Replicas {
		return false, "waiting for the old replicas to go", nil
	}
	if !state.Settled {
		return false, fmt.Sprintf("waiting for ready replicas, %d of %d%s", state.Ready, state.Replicas, unready(state.Pods)), nil
	}
	lease, err := l.Lease(ctx, state.Settings.LeaseName)
	if err != nil {
		return false, "", err
	}
	return state.Replicas == 0 || lease != nil && holdsOne(state.Pods, lease.Holder), "waiting for a replica to take the Lease", nil
}

// holdsOne reports whether the identity in a Lease is that of one of the pods.
func holdsOne(pods []corev1.Pod, holder string) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool { return observe.PodOf(&p).Holds(holder) })
}

// Lease reads the operator's Lease; nil if it does not exist yet.
func (l *Lab) Lease(ctx context.Context, name string) (*timeline.Lease, error) {
	lease, err := l.Client.CoordinationV1().Leases(l.leaseNamespace()).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w", l.leaseNamespace(), name, err)
	}
	return observe.LeaseOf(lease), nil
}

// errGaveUp is wrapped by the error of a wait that reached its limit.
var errGaveUp = errors.New("gave up")

// wait asks again and again until done. A request that fails is tried again, unless it says what to do about it; the
// last failure is in the error when the limit is reached.
func (l *Lab) wait(ctx context.Context, limit time.Duration, ask func(context.Context) (done bool, what string, err error)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := ""
	for said := ""; ; {
		done, what, err := ask(limited)
		if done && err == nil {
			return nil
		}
		var problem *provider.Problem
		if errors.As(err, &problem) {
			return err
		}
		if err != nil && l.Provider != nil {
			if _, lost := l.Provider.Find(ctx, l.Cluster.Name); errors.Is(lost, provider.ErrNoLab) {
				return lost // nothing to wait for any more
			}
		}
		if err != nil && limited.Err() == nil {
			what = "waiting for the API server"
			last = ": " + err.Error()
		} else if err == nil {
			last = ""
		}
		if what != "" && what != said {
			l.Say(fmt.Sprintf("%s (at most %s)", what, limit))
			said = what
		}
		select {
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &provider.Problem{Err: fmt.Errorf("%w after %s: %s%s", errGaveUp, limit, said, last), Hint: "labctl doctor"}
		case <-time.After(pollEvery):
		}
	}
}
