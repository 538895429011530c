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
	"strings"
	"sync"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/mutant"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
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
	Trials  int // done, and not void, and judged by what the subject is known by
	Void    int // done, and void
	Unseen  int // done, and not judged by it; Missed says of the last what was missing
	Missed  string
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
// one is its own matter; the error is of what ends all, and what was tried until then is returned beside it.
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
	var disarm func()
	if err == nil {
		disarm, err = l.outlive("lanes")
	}
	if err != nil {
		return nil, err
	}
	defer disarm()
	queue := make(chan int, len(o.Subjects))
	for i := range o.Subjects {
		queue <- i
	}
	close(queue)
	tried := make([]Tried, len(o.Subjects))
	for i, s := range o.Subjects {
		tried[i] = Tried{Subject: s, Err: errors.New("it was interrupted before its turn")}
	}
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
	l.endLanes(ctx)
	return tried, ctx.Err()
}

// try tries one subject, in the lane of that number.
func (l *Lab) try(ctx context.Context, o MutantOptions, base replica.State, number int) Tried {
	s := o.Subjects[number-1]
	begun, out := time.Now(), Tried{Subject: s}
	l.Say(s.says())
	state := s.settings(base)
	want := replica.Wanted{Image: cmp.Or(s.Image, l.Cluster.OperatorImage), Replicas: s.Replicas, Args: append(slices.Clone(state.Args), s.Flags...)}
	if s.Program != "" {
		want.Command = []string{s.Program}
	}
	own, err := l.applyLane(ctx, number, o.Manifests, want)
	defer l.dropLane(ctx, number)
	var stuck *mutant.Begin
	if err == nil {
		stuck, err = own.begin(ctx, mutant.StartLimit)
	}
	switch {
	case err != nil:
		out.Err = err
	case stuck != nil:
		out.unstarted(*stuck)
	case s.Mode == mutant.Start:
		out.Trials = 1
	default:
		own.Say = func(string) {}
		out.Err = own.attempt(ctx, o, &out, state, number)
	}
	if out.Err != nil && ctx.Err() != nil {
		out.Err = errors.New("it was interrupted")
	}
	out.Seconds = time.Since(begun).Seconds()
	return out
}

// says tells what is tried, and why.
func (s Subject) says() string {
	if s.Wrong {
		return fmt.Sprintf("trying %s (%s): %s", s.Name, s.Fault, s.Mode)
	}
	return fmt.Sprintf("trying %s: %s, %d times", s.Name, s.Mode, s.Trials)
}

// unstarted takes that the replicas did not become ready, with a leader. A right operator's do, and a mutant's do unless that is its fault.
func (t *Tried) unstarted(b mutant.Begin) {
	a, own := t.Subject.NotStarted(b)
	if t.Subject.Wrong && !own {
		t.Err = errors.New("its replicas did not start, and not as its fault would have it: " + a.Reason)
		return
	}
	t.take(mutant.Look{Alarms: []mutant.Alarm{a}}, false)
}

// take takes what a trial told, and reports whether the alarm that is looked for is among it.
func (t *Tried) take(look mutant.Look, void bool) bool {
	t.Alarms = append(t.Alarms, look.Alarms...)
	a, caught := t.Subject.Caught(look.Alarms)
	missed, unseen := look.Missed(t.Subject.Rules())
	switch {
	case caught && t.Subject.Wrong:
		t.Trials++
		t.Caught = &a
	case void:
		t.Void++
	case unseen && !caught: // a rule that could not be judged has not passed
		t.Unseen++
		t.Missed = missed.Name + ": " + missed.Reason
	default:
		t.Trials++
	}
	return t.Caught != nil
}

// most is how many trials are done at most: those that do not count are done again.
func (s Subject) most() int { return 2*s.Trials + spareTrials }

// spareTrials is how many more trials than twice what is asked for are done where some do not count.
const spareTrials = 2

// runs names what runs in the place of the lab's own operator as it is; "" if that runs.
func (s Subject) runs() string {
	switch {
	case s.Image != "":
		return s.Image
	case s.Program != "":
		return strings.Join(append([]string{filepath.Base(s.Program)}, s.Flags...), " ")
	case len(s.Flags) > 0:
		return strings.Join(append([]string{api.Program}, s.Flags...), " ")
	default:
		return ""
	}
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
	r.header.Program = s.runs()
	watched := r.newLane(l, number, state)
	r.lanes = []*lane{watched}
	if err := r.open(); err != nil {
		return err
	}
	out.Run = r.folder.Path
	watching, stop := context.WithCancel(ctx)
	wait, err := watched.observer.Start(watching)
	for n := 0; err == nil && out.Trials < s.Trials && n < s.most(); n++ {
		var look mutant.Look
		var void bool
		if look, void, err = watched.once(ctx, s); err == nil && out.take(look, void) {
			break
		}
	}
	stop()
	wait() // nothing is recorded any more
	return errors.Join(err, r.close(*out, err))
}

// close ends the record of a subject's trials, and says in it why there are not as many as could have been.
func (r *run) close(t Tried, err error) error {
	why := err
	switch {
	case err != nil:
	case t.Caught != nil:
		why = fmt.Errorf("it was to be caught, and was: %s failed in trial %d", t.Caught.Name, r.begun)
	case t.Subject.Mode == mutant.Untouched:
		why = errors.New("nothing was done to its Lease, which was only watched")
	}
	var again error
	if r.begun > r.options.Trials { // some did not count and were done again
		r.options.Trials = r.begun
		again = r.folder.write("run.json", r.info())
	}
	result := r.result(why)
	r.folder.Append(timeline.Event{Seconds: time.Since(r.start).Seconds(), Wall: time.Now().UTC(), Kind: timeline.RunEnded, Note: result.Cut})
	return errors.Join(again, r.folder.finish(result), r.folder.close())
}

// once does one trial and returns what it told; void is whether something else than the fault disturbed it.
func (l *lane) once(ctx context.Context, s Subject) (look mutant.Look, void bool, err error) {
	if s.Mode == mutant.Untouched {
		look, err = l.untouched(ctx)
		return look, false, err
	}
	n := l.run.begun + 1
	if err := l.trial(ctx, s.Mode); err != nil {
		return look, false, err
	}
	t := l.view.measure(n)
	look = mutant.Judge(l.view.all(), n, t, l.run.header.Of(t))
	return look, t.Void != "" && len(look.Alarms) == 0, nil
}

// untouched looks at a Lease to which nothing is done. After a move it looks on for as long as it takes to hear of an API server that
// stood still.
func (l *lane) untouched(ctx context.Context) (mutant.Look, error) {
	from, quiet := l.observer.Now(), l.settings.Timing.RenewDeadline+l.settings.Timing.RetryPeriod
	end, moved := time.NewTimer(mutant.Watch), false
	defer end.Stop()
	for {
		next := l.view.next()
		events := l.view.all()
		first := slices.IndexFunc(events, func(e timeline.Event) bool { return e.Seconds >= from })
		if first < 0 {
			first = len(events)
		}
		look := mutant.Moved(events[first:], l.observer.Now(), quiet)
		if len(look.Alarms) > 0 && !moved {
			moved = true
			end.Reset(lagAfter)
		}
		select {
		case <-next:
		case <-end.C:
			return look, nil
		case err := <-l.observer.Failed():
			return look, err
		case <-ctx.Done():
			return look, ctx.Err()
		}
	}
}
