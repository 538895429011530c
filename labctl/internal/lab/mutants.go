package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
)

// Subject is an operator, and how often it is tried in one way.
type Subject struct {
	mutant.Mutant
	// Program is the path of the local program that runs in the operator's place; "" is the operator. Image is the same where
	// nodes run containers.
	Program, Image string
	// Trials is how often it is tried at most. Wrong is whether an alarm is looked for, and ends it; else each alarm is kept.
	Trials int
	Wrong  bool
}

// Tried is what came of a subject.
type Tried struct {
	Subject Subject
	Trials  int // done, and not void
	Void    int // done, and void
	// Caught is the alarm that was looked for, nil if it did not come; Alarms are all.
	Caught  *mutant.Alarm
	Alarms  []mutant.Alarm
	Seconds float64
	Run     string // the folder of its record
	Err     error  // why it was not tried to the end; nil if it was
}

// MutantOptions say what is tried.
type MutantOptions struct {
	Subjects  []Subject
	Lanes     int // how many are tried side by side
	Manifests fs.FS
	Seed      uint64
	Dir       string // for the records, one folder for each subject
	Version   string
	OnTried   func(Tried) // called one at a time; it may be nil
}

// Mutants tries each subject in a namespace of its own, several side by side, and removes the namespaces. What goes wrong with
// one is its own matter; the error is of what ends all.
func (l *Lab) Mutants(ctx context.Context, o MutantOptions) ([]Tried, error) {
	release, err := alone(l.Cluster, "trying mutants on this lab")
	if err != nil {
		return nil, err
	}
	defer release()
	if l.Cluster.Namespace != "" {
		return nil, &provider.Problem{Err: errors.New("mutants run in namespaces of their own, and on an existing cluster the lab keeps to its one"), Hint: "labctl up --provider embedded"}
	}
	base, err := l.reach(ctx)
	for _, s := range o.Subjects {
		if _, done := fault.Describe(s.Mode); err == nil && done {
			err = l.able(ctx, Options{Modes: []fault.Mode{s.Mode}}, s.Timing)
		}
	}
	if err == nil {
		err = l.removeLanes(ctx)
	}
	if err != nil {
		return nil, err
	}
	queue := make(chan int, len(o.Subjects))
	for i := range o.Subjects {
		queue <- i
	}
	close(queue)
	tried := make([]Tried, len(o.Subjects))
	var working sync.WaitGroup
	var telling sync.Mutex
	for range min(o.Lanes, len(o.Subjects)) {
		working.Go(func() {
			for i := range queue {
				if ctx.Err() != nil {
					return
				}
				tried[i] = l.try(ctx, o, base, i+1)
				telling.Lock()
				if o.OnTried != nil {
					o.OnTried(tried[i])
				}
				telling.Unlock()
			}
		})
	}
	working.Wait()
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	if err := l.removeLanes(removing); err != nil {
		l.Say("the namespaces were not removed: " + err.Error() + " (labctl down removes them with the lab)")
	}
	return tried, ctx.Err()
}

// try tries one subject, in the lane of that number.
func (l *Lab) try(ctx context.Context, o MutantOptions, base replica.State, number int) Tried {
	s := o.Subjects[number-1]
	begun, out := time.Now(), Tried{Subject: s}
	l.Say(fmt.Sprintf("trying %s: %s", s.Name, s.Mode))
	state := s.settings(base)
	want := replica.Wanted{Image: cmp.Or(s.Image, l.Cluster.OperatorImage), Replicas: s.Replicas, Args: append(slices.Clone(state.Args), s.Flags...)}
	if s.Program != "" {
		want.Command = []string{s.Program}
	}
	own, err := l.applyLane(ctx, number, o.Manifests, want)
	defer l.dropLane(ctx, number)
	if err == nil {
		err = own.waitLed(ctx, mutant.StartLimit)
	}
	switch {
	case errors.Is(err, errGaveUp): // the replicas are not what they should be; a right operator's are
		out.Trials = 1
		out.alarm([]mutant.Alarm{mutant.NotStarted(err.Error())})
	case err != nil:
		out.Err = err
	case s.Mode == mutant.Start:
		out.Trials = 1
	default:
		own.Say = func(string) {}
		out.Err = own.attempt(ctx, o, &out, state, number)
	}
	out.Seconds = time.Since(begun).Seconds()
	return out
}

// alarm takes the alarms of a trial, and reports whether the one that is looked for is among them.
func (t *Tried) alarm(alarms []mutant.Alarm) bool {
	t.Alarms = append(t.Alarms, alarms...)
	if a, caught := t.Subject.Caught(alarms); caught && t.Subject.Wrong {
		t.Caught = &a
	}
	return t.Caught != nil
}

// settings are those of a right operator, which the subject claims to be: the defaults with its timing.
func (s Subject) settings(base replica.State) replica.State {
	want := replica.Default()
	release, all := want.ReleaseOnCancel, want.Guards
	change := replica.Change{Timing: &s.Timing, Election: &want.Election, Identity: &want.Identity, ReleaseOnCancel: &release, OnLoss: &want.OnLoss}
	for i, g := range all.Each() {
		change.Guards[i] = g.On
	}
	state := change.In(base)
	state.Replicas = s.Replicas
	return state
}

// attempt does the subject's trials, in a record of their own.
func (l *Lab) attempt(ctx context.Context, o MutantOptions, out *Tried, state replica.State, number int) error {
	s := out.Subject
	actual, err := l.state(ctx) // its selector and the Lease's name; the settings are as claimed
	if err != nil {
		return err
	}
	state.Selector, state.Pods, state.Settings.LeaseName = actual.Selector, actual.Pods, actual.Settings.LeaseName
	r := &run{cluster: l.Cluster, start: time.Now(), options: Options{Modes: []fault.Mode{s.Mode}, Trials: s.Trials, Seed: o.Seed + uint64(number),
		RunsDir: filepath.Join(o.Dir, strconv.Itoa(number)+"-"+s.Name), Version: o.Version}}
	r.header = l.header(state, 1)
	watched := r.newLane(l, number, state)
	r.lanes = []*lane{watched}
	if err := r.open(); err != nil {
		return err
	}
	out.Run = r.folder.Path
	watching, stop := context.WithCancel(ctx)
	wait, err := watched.observer.Start(watching)
	for n := 0; err == nil && out.Trials < s.Trials && n < 2*s.Trials+spareTrials; n++ { // void ones are done again
		var alarms []mutant.Alarm
		var void bool
		if alarms, void, err = watched.once(ctx, s); err != nil {
			break
		}
		if void {
			out.Void++
		} else {
			out.Trials++
		}
		if out.alarm(alarms) {
			break
		}
	}
	stop()
	wait() // nothing is recorded any more
	r.folder.Append(timeline.Event{Seconds: time.Since(r.start).Seconds(), Wall: time.Now().UTC(), Kind: timeline.RunEnded})
	return errors.Join(err, r.folder.finish(r.result(err)), r.folder.close())
}

// spareTrials is how many more trials than twice what is asked for are done where some are void.
const spareTrials = 2

// once does one trial and returns its alarms; void is whether something else than the fault disturbed it.
func (l *lane) once(ctx context.Context, s Subject) (alarms []mutant.Alarm, void bool, err error) {
	if s.Mode == mutant.Untouched {
		alarms, err = l.untouched(ctx)
		return alarms, false, err
	}
	n := l.run.begun + 1
	if err := l.trial(ctx, s.Mode); err != nil {
		return nil, false, err
	}
	events := l.view.all()
	t := l.view.measure(n)
	alarms = mutant.Alarms(events, t, l.run.header.Input(s.Mode, t.Standbys))
	return alarms, t.Void != "" && len(alarms) == 0, nil
}

// untouched looks at a Lease to which nothing is done.
func (l *lane) untouched(ctx context.Context) ([]mutant.Alarm, error) {
	from := l.observer.Now()
	end := time.NewTimer(mutant.Watch)
	defer end.Stop()
	for {
		next := l.view.next()
		events := l.view.all()
		first := slices.IndexFunc(events, func(e timeline.Event) bool { return e.Seconds >= from })
		if alarms := mutant.Moved(events[max(0, first):]); len(alarms) > 0 {
			return alarms, nil
		}
		select {
		case <-next:
		case <-end.C:
			return nil, nil
		case err := <-l.observer.Failed():
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// dropLane asks for the end of a lane and does not wait for it.
func (l *Lab) dropLane(ctx context.Context, number int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	if err := l.Client.CoreV1().Namespaces().Delete(ctx, laneNamespace(strconv.Itoa(number)), metav1.DeleteOptions{}); err != nil {
		l.Say(fmt.Sprintf("remove lane %d: %v", number, err))
	}
}
