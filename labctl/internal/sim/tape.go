package sim

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// tape records a trial as a run's timeline: what an observer of the same trial in a cluster would have seen, without its
// delays. A nil tape records nothing. It draws nothing and delays nobody, so that a trial is the same with it.
type tape struct {
	mu     sync.Mutex
	begin  time.Time
	trial  int // the number of the trial under way; 0 outside of it
	full   bool
	events []timeline.Event
}

func newTape() *tape {
	t := &tape{begin: time.Now()}
	t.add(timeline.Event{Kind: timeline.RunStarted})
	return t
}

// add stamps an event. Nothing is added after the end of the run.
func (t *tape) add(e timeline.Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full {
		return
	}
	now := time.Now()
	e.Seconds, e.Wall, e.Trial = now.Sub(t.begin).Seconds(), now.UTC(), t.trial
	t.events = append(t.events, e)
	t.full = e.Kind == timeline.RunEnded
}

// end is what was recorded, the successor's first second of work included.
func (t *tape) end() []timeline.Event {
	if t == nil {
		return nil
	}
	time.Sleep(time.Second + api.WorkTick/2) // not at a tick, which might come before or after
	t.add(timeline.Event{Kind: timeline.TrialEnded})
	t.number(0)
	t.add(timeline.Event{Kind: timeline.RunEnded})
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events
}

// number begins a trial, or ends it with 0.
func (t *tape) number(trial int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trial = trial
}

// issued is the fault with who is hit by it.
func issued(f timeline.Fault, leader *candidate, all []*candidate, phase time.Duration, t api.Timing) *timeline.Fault {
	f.Pod, f.UID = leader.name, leader.name
	f.Standbys, f.StandbyUIDs = []string{}, []string{}
	for _, c := range all {
		if c != leader {
			f.Standbys, f.StandbyUIDs = append(f.Standbys, c.name), append(f.StandbyUIDs, c.name)
		}
	}
	f.PhaseSeconds, f.RetryPeriodSeconds, f.SharedClock = phase.Seconds(), t.RetryPeriod.Seconds(), true
	return &f
}

// began records that a candidate's process is up. Its pod's UID is its name.
func (t *tape) began(c *candidate) {
	t.add(timeline.Event{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: c.name, UID: c.name, Phase: "Running", Ready: true}})
	t.add(timeline.Event{Kind: timeline.ProcessUp, Process: c.asProcess(0)})
}

// gone records the end of a candidate's process, of its log, and of its pod.
func (t *tape) gone(c *candidate, code int) {
	if !c.silent.CompareAndSwap(false, true) {
		return // it was killed
	}
	t.add(timeline.Event{Kind: timeline.ProcessGone, Process: c.asProcess(code)})
	t.add(timeline.Event{Kind: timeline.LogEnded, Log: &timeline.Log{Pod: c.name, UID: c.name}})
	t.add(timeline.Event{Kind: timeline.PodGone, Pod: &timeline.Pod{Name: c.name, UID: c.name}})
}

func (c *candidate) asProcess(code int) *timeline.Process {
	return &timeline.Process{Pod: c.name, UID: c.name, PID: c.number, ExitCode: code, At: now()}
}

func now() time.Time { return time.Now().UTC() }

// lease records a write of the Lease.
func (t *tape) lease(l *coordinationv1.Lease) {
	if t == nil {
		return
	}
	s, seen := l.Spec, timeline.Lease{ResourceVersion: l.ResourceVersion}
	if s.HolderIdentity != nil {
		seen.Holder = *s.HolderIdentity
	}
	if s.LeaseDurationSeconds != nil {
		seen.LeaseDurationSeconds = int(*s.LeaseDurationSeconds)
	}
	if s.LeaseTransitions != nil {
		seen.Transitions = int(*s.LeaseTransitions)
	}
	if s.AcquireTime != nil {
		seen.AcquireTime = s.AcquireTime.UTC()
	}
	if s.RenewTime != nil {
		seen.RenewTime = s.RenewTime.UTC()
	}
	t.add(timeline.Event{Kind: timeline.LeaseSeen, Lease: &seen})
}

// request records a request as the API server's audit log would. The Lease in memory answers at once.
func (t *tape) request(verb, from string, err error) {
	if t == nil {
		return
	}
	code := http.StatusOK
	if verb == "create" {
		code = http.StatusCreated
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	t.add(timeline.Event{Kind: timeline.LeaseRequest, Request: &timeline.Request{Verb: verb, Code: code, Pod: from, UID: from, Received: now(), Answered: now()}})
}

// work records a tick of a leader's work: the log line before the write, and the write, or that the fence refused it.
func (t *tape) work(c *candidate, token, sequence int64, refused bool) {
	if t == nil {
		return
	}
	if refused {
		c.log.Warn(api.MessageWriteRefused, api.KeySequence, sequence, api.KeyTransition, token, api.KeyReason, "the object has a higher fencing token, or has changed")
		return
	}
	t.add(timeline.Event{Kind: timeline.WorkSeen, Work: &timeline.Work{Object: api.DefaultWork, Holder: c.name, Transition: int(token), Sequence: sequence, At: now()}})
}

// logger is a replica's log: it discards everything unless there is a tape.
func (t *tape) logger(c *candidate) *slog.Logger {
	if t == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewJSONHandler(logLines{t, c}, nil)).With(api.KeyIdentity, c.name)
}

// logLines takes the lines of a replica's log, as an observer reads them.
type logLines struct {
	tape *tape
	of   *candidate
}

var _ io.Writer = logLines{}

func (l logLines) Write(line []byte) (int, error) {
	if l.of.silent.Load() {
		return len(line), nil
	}
	var in struct {
		Time    time.Time `json:"time"`
		Level   string    `json:"level"`
		Message string    `json:"msg"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return 0, err
	}
	seen := &timeline.Log{Pod: l.of.name, UID: l.of.name, Time: in.Time.UTC(), Level: in.Level, Message: in.Message, Identity: l.of.name}
	if in.Level == slog.LevelWarn.String() || in.Level == slog.LevelError.String() {
		seen.Raw = string(line[:len(line)-1])
	}
	l.tape.add(timeline.Event{Kind: timeline.LogLine, Log: seen})
	return len(line), nil
}

// exitKilled is what a shell says of a process that SIGKILL ended.
const exitKilled = 128 + 9
