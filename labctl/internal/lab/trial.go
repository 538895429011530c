package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// lane is one set of replicas with its Lease, on which trials are done one after the other.
type lane struct {
	run      *run
	number   int // from 1; 0 if it is the only one
	lab      *Lab
	settings replica.Settings
	replicas int
	observer *observe.Observer
	view     *view
	target   replica.Target
	random   *rand.Rand
}

// say tells what the lane waits for.
func (l *lane) say(text string) {
	if l.number > 0 {
		text = fmt.Sprintf("lane %d: %s", l.number, text)
	}
	l.lab.Say(text)
}

// work does trials until the queue is empty, and leaves the replicas ready.
func (l *lane) work(ctx context.Context, queue <-chan fault.Mode) error {
	watching, stop := context.WithCancel(ctx)
	wait, err := l.observer.Start(watching)
	defer func() { stop(); wait() }()
	if err != nil {
		return err
	}
	for mode := range queue {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.trial(ctx, mode); err != nil {
			return err
		}
	}
	if l.number > 0 {
		return nil // it will be removed
	}
	return l.lab.WaitLed(ctx)
}

// settleLimit bounds the waiting before a trial beside the timing's own share.
const settleLimit = 2 * time.Minute

// trial does one: settle, random phase, fault, watch. A trial that was begun is kept, whatever ends it.
func (l *lane) trial(ctx context.Context, mode fault.Mode) error {
	s, phase, err := l.poise(ctx)
	if err != nil {
		return err
	}
	d, _ := fault.Describe(mode)
	disarm, err := l.arm(ctx, d)
	if err != nil {
		return err
	}
	n := l.run.next()
	l.aim(d, len(s.standbys))
	issued := l.issue(d, s, phase)
	limit := l.limit(mode, len(s.standbys)) + time.Duration(l.replicas)*l.target.Version.Pace
	l.say(fmt.Sprintf("trial %d: %s; waiting for a successor (at most %s)", n, mode, limit.Round(time.Second)))
	l.observer.SetTrial(n)
	l.observer.Emit(timeline.Event{Kind: timeline.FaultIssued, Fault: &issued})
	pod := fault.Pod{Name: s.holder.Name, UID: s.holder.UID}
	if d.Undone() {
		defer func() {
			if l.restore(ctx, mode, pod) {
				disarm()
			}
		}()
	}
	err = fault.Inject(ctx, mode, l.target, pod, lasting(d, l.settings.Timing))
	switch {
	case errors.Is(err, fault.ErrGone):
		l.say(fmt.Sprintf("trial %d: %v; it does not count", n, err))
		err = nil // somebody was quicker; the trial says that nothing was accepted
	case err == nil:
		l.observer.Emit(timeline.Event{Kind: timeline.FaultAccepted})
		l.settings.BinaryVersion = cmp.Or(issued.To, l.settings.BinaryVersion)
		stop := l.endOutage(ctx, d, pod)
		err = l.watch(ctx, n, limit, d, s)
		stop()
	}
	l.observer.Emit(timeline.Event{Kind: timeline.TrialEnded})
	l.observer.SetTrial(0)
	return errors.Join(err, l.run.done(n, l.view.measure(n))) // after its end, so that the record gives the same
}

// aim names the version that an upgrade leads to, and its pace.
func (l *lane) aim(d fault.Description, standbys int) {
	if d.Mode == fault.Upgrade {
		l.target.Version = replica.Version{To: api.NextVersion(l.settings.BinaryVersion), Pace: gap.Pace(l.run.header.Input(d.Mode, standbys))}
	}
}

// issue is what the record says of a fault that is about to be done.
func (l *lane) issue(d fault.Description, s scene, phase time.Duration) timeline.Fault {
	issued := timeline.Fault{Mode: string(d.Mode), Pod: s.holder.Name, UID: s.holder.UID, PhaseSeconds: phase.Seconds(),
		Kubectl: d.Line(fault.Subject{Namespace: l.lab.Deployment.Namespace, Pod: s.holder.Name, Deployment: l.lab.Deployment.Name,
			LeaseNamespace: l.target.LeaseNamespace, Lease: l.target.Lease}),
		Standbys: []string{}, StandbyUIDs: []string{}, RetryPeriodSeconds: l.settings.Timing.RetryPeriod.Seconds(),
		SharedClock: l.lab.Cluster.SharedClock, Foreign: l.lab.foreign != nil, Silences: d.Silences, Kind: timeline.FaultKind(d.Kind)}
	if d.Mode == fault.Upgrade {
		issued.From, issued.To = l.settings.BinaryVersion, l.target.Version.To
	}
	if d.Kind == fault.OfRecord {
		issued.Thief = fault.Thief
	}
	if d.Mode == fault.Deny {
		issued.AcceptWithinSeconds = policyLimit.Seconds()
	}
	for _, p := range s.standbys {
		issued.Standbys = append(issued.Standbys, p.Name)
		issued.StandbyUIDs = append(issued.StandbyUIDs, p.UID)
	}
	return issued
}

// poise waits until the lab is settled and then for a random while, again if the lab did not stay settled meanwhile.
func (l *lane) poise(ctx context.Context) (scene, time.Duration, error) {
	for {
		before, err := l.settle(ctx)
		if err != nil {
			return scene{}, 0, err
		}
		wait, phase := moment(l.random, l.settings.Timing)
		l.say(fmt.Sprintf("settled; a random wait before the fault (%.1f s)", wait.Seconds()))
		if err := sleep(ctx, wait); err != nil {
			return scene{}, 0, err
		}
		switch s, missing := l.ready(); {
		case missing == "" && s.same(before):
			return s, phase, nil
		case missing == "":
			l.say("the replicas changed during the wait, so it begins anew")
		}
	}
}

// ready returns the scene if a trial may begin, or what is missing.
func (l *lane) ready() (scene, string) {
	now := l.observer.Now()
	s, missing := l.view.settled(l.replicas, l.settings.Timing, now)
	if missing == "" {
		missing = l.view.fenced(s.holder, now)
	}
	return s, missing
}

// moment draws how long after the settling the fault comes, and its random share. What settles a lab is often the standby's
// poll, so a fault right after it would meet the longest pause before the next: one such pause is waited out, and then a
// uniform share of three RetryPeriods. The standby's next poll then comes as at any random moment.
func moment(random *rand.Rand, t api.Timing) (wait, phase time.Duration) {
	phase = time.Duration(3 * random.Float64() * float64(t.RetryPeriod))
	return pollPause(t) + phase, phase
}

// limit is how long a successor is waited for: what the model allows, twice the tolerances and a slow start.
func (l *lane) limit(mode fault.Mode, standbys int) time.Duration {
	in := l.run.header.Input(mode, standbys)
	p := gap.Range(in, timeline.Expired) // the longest: a release may fail
	limit := time.Duration(p.MaxSeconds*float64(time.Second)) + 20*time.Second
	d, _ := fault.Describe(mode)
	if d.Kind == fault.OfServer {
		return limit + outage(l.settings.Timing)
	}
	return max(limit, over(d, l.settings.Timing)+tailAfter) + rolling(d)
}

// settle waits until a trial may begin, replacing pods whose container was restarted.
func (l *lane) settle(ctx context.Context) (scene, error) {
	limit := settleLimit + l.settings.Timing.LeaseDuration + 5*l.settings.Timing.RetryPeriod
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	again := time.NewTicker(time.Second) // a renewal that stays away is no event
	defer again.Stop()
	said, replaced := "", map[string]bool{}
	for {
		next := l.view.next()
		if pod, ok := l.view.restarted(l.replicas); ok && !replaced[pod.UID] {
			l.say("replacing " + pod.Name + ", whose container was restarted, so that back-off decides nothing")
			if err := l.target.Delete(ctx, fault.Pod{Name: pod.Name, UID: pod.UID}, false); err != nil && !errors.Is(err, fault.ErrGone) {
				return scene{}, err
			}
			replaced[pod.UID] = true
		}
		s, missing := l.ready()
		if missing == "" {
			standby, tied, err := l.tied(ctx, s)
			if err != nil || !tied || replaced[s.holder.UID] {
				return s, err
			}
			missing = fmt.Sprintf("for an order of the candidates: replacing %s, which was made in the same second as %s", s.holder.Name, standby.Name)
			if err := l.target.Delete(ctx, fault.Pod{Name: s.holder.Name, UID: s.holder.UID}, false); err != nil && !errors.Is(err, fault.ErrGone) {
				return scene{}, err
			}
			replaced[s.holder.UID] = true
		}
		if missing == fencedWait {
			if err := l.unfence(ctx); err != nil {
				return scene{}, err
			}
		}
		if missing != said {
			said = missing
			l.say(fmt.Sprintf("waiting %s (at most %s)", missing, limit))
		}
		select {
		case <-next:
		case <-again.C:
			if err := errors.Join(l.lab.lost(ctx), l.rescaled(ctx)); err != nil {
				return scene{}, err
			}
		case err := <-l.observer.Failed():
			return scene{}, err
		case <-deadline.C:
			return scene{}, &provider.Problem{Err: fmt.Errorf("the lab did not settle within %s: waiting %s", limit, missing), Hint: l.askOf(missing)}
		case <-ctx.Done():
			return scene{}, ctx.Err()
		}
	}
}

// tailAfter is how long what belongs to a trial is waited for after the successor works: the old process's end, the
// successor's log, the requests. lagAfter is how long more is listened in any case: a probe tells an API server that stood
// still only after it answers again.
const (
	tailAfter = 3 * time.Second
	lagAfter  = 600 * time.Millisecond
)

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// askOf is the command that tells most of what a lab waits for: the log of the replica that is named, if one is.
func (l *lane) askOf(missing string) string {
	for _, pod := range l.view.living() {
		if strings.Contains(missing, " "+pod.Name+" ") {
			return fmt.Sprintf("kubectl -n %s logs %s", l.lab.Deployment.Namespace, pod.Name)
		}
	}
	return "labctl doctor"
}
