package board

import (
	"fmt"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Failover is one fault, announced or not, and what followed.
type Failover struct {
	Number int
	// Sign is what was seen first of a fault that nobody announced; empty for one that labctl issued.
	Sign string
	// Settling is whether it came about while the lab was made ready for a fault of labctl's.
	Settling bool
	// T0 is when the command was issued, or the first sign was seen.
	T0    float64
	Fault timeline.Fault
	// Anchor is the arrival of the last renewal before T0; T0 if there was none.
	Anchor float64
	// Trial is what was measured so far.
	Trial timeline.Trial
	// Predicted is the range of the lock gap for the class that was seen, or is expected until then.
	Predicted gap.Prediction
	Class     timeline.Class
	Ended     bool

	alone    float64 // since when nobody led who had a process, if the record did not tell; 0 if that is not so
	recorded bool    // Trial comes from the run's own record
	end      float64 // when it is given up
	over     float64 // when it ended; forever before that
	worked   float64 // when it was complete; 0 before
}

// Limits of a failover that nobody ends: after the successor worked, and in all, beside what the model allows.
const tailSeconds, giveUpSeconds = 3.0, 20.0

// Begun is how many failovers began so far.
func (b *Board) Begun() int {
	if n := len(b.failovers); n > 0 {
		return b.failovers[n-1].Number
	}
	return 0
}

// open returns the failover under way; nil if there is none.
func (b *Board) open() *Failover {
	if n := len(b.failovers); n > 0 && !b.failovers[n-1].Ended {
		return b.failovers[n-1]
	}
	return nil
}

func (b *Board) close(at float64) {
	if f := b.open(); f != nil {
		b.measure(f)
		f.Ended, f.over = true, at
	}
}

// watchman opens a failover at its announcement or its first sign. The events of it get its number, since runs number
// their trials each from 1.
func (b *Board) watchman(e *timeline.Event) {
	f := b.open()
	switch {
	case e.Kind == timeline.FaultIssued:
		b.close(e.Seconds)
		b.settling = false
		f = b.start(*e.Fault, "", e.Seconds)
		e.Trial = f.Number
		return
	case e.Kind == timeline.TrialEnded && f != nil:
		e.Trial = f.Number
		return
	case f != nil && (f.Sign == "" || f.Trial.HolderAfter == nil):
		return // whatever it is, it belongs to this one
	}
	sign := b.sign(*e)
	if sign == "" {
		return
	}
	b.close(e.Seconds)
	before := b.At(e.Seconds)
	f = b.start(b.suppose(), sign, e.Seconds)
	f.Settling = b.settling
	if sign == expiredSign && before.Nobody > 0 && !before.AtLeast {
		f.alone = e.Seconds - before.Nobody
	}
	issued := timeline.Event{Kind: timeline.FaultIssued, Seconds: e.Seconds, Wall: e.Wall, Trial: f.Number, Fault: &f.Fault}
	b.recent.push(issued, false)
	issued.Kind, issued.Fault = timeline.FaultAccepted, nil
	b.recent.push(issued, false)
}

// sign says what an event tells of a fault; "" if nothing.
func (b *Board) sign(e timeline.Event) string {
	h := b.holder
	of := func(uid string) bool { return h != nil && h.pod.UID != "" && h.pod.UID == uid }
	switch {
	case h == nil:
		return ""
	case e.Kind == timeline.PodSeen && of(e.Pod.UID) && e.Pod.Terminating && !h.pod.Terminating:
		return "pod deleted"
	case e.Kind == timeline.PodGone && of(e.Pod.UID) && !h.pod.Terminating:
		return "pod removed"
	case e.Kind == timeline.ProcessGone && of(e.Process.UID):
		return fmt.Sprintf("process ended, exit code %d", e.Process.ExitCode)
	case e.Kind == timeline.LeaseGone:
		return "Lease deleted"
	case e.Kind == timeline.LeaseSeen:
		return b.signOf(e)
	default:
		return ""
	}
}

// expiredSign is the sign of a takeover of a record that nobody was seen to leave.
const expiredSign = "Lease expired"

func (b *Board) signOf(e timeline.Event) string {
	before := b.writes[len(b.writes)-1]
	if before.lease == nil || before.turn == Lost {
		return ""
	}
	switch b.turned(before, write{at: e.Seconds, lease: e.Lease}) {
	case Freed:
		return "Lease released"
	case Expired:
		return expiredSign
	case Stolen:
		return "Lease overwritten"
	default:
		return ""
	}
}

// suppose is the fault that a sign stands for: to the holder, with every other live replica standing by.
func (b *Board) suppose() timeline.Fault {
	f := timeline.Fault{Pod: timeline.PodOf(b.holder.pod.Name), UID: b.holder.pod.UID, Standbys: []string{}, StandbyUIDs: []string{},
		RetryPeriodSeconds: b.Config().Timing.RetryPeriod.Seconds(), SharedClock: b.config.SharedClock, Foreign: b.config.Followed}
	for _, r := range b.replicas {
		if r != b.holder && r.pod.UID != "" && r.gone == forever && !r.pod.Terminating && r.alive.at(b.last.Seconds) {
			f.Standbys, f.StandbyUIDs = append(f.Standbys, r.pod.Name), append(f.StandbyUIDs, r.pod.UID)
		}
	}
	return f
}

func (b *Board) start(issued timeline.Fault, sign string, at float64) *Failover {
	f := &Failover{Number: 1, Sign: sign, T0: at, Fault: issued, Anchor: at, over: forever}
	if n := len(b.failovers); n > 0 {
		f.Number = b.failovers[n-1].Number + 1
	}
	if i := b.renewal(at); i >= 0 {
		f.Anchor = b.writes[i].renewed
	}
	t := b.Config().Timing
	f.end = at + t.LeaseDuration.Seconds() + 2*gap.LongestPause*t.RetryPeriod.Seconds() + giveUpSeconds
	f.Trial = timeline.Trial{Mode: issued.Mode, Class: timeline.Unknown, Kubectl: issued.Kubectl, Standbys: len(issued.Standbys), WallT0: b.Wall(at)}
	b.expect(f)
	b.failovers = append(b.failovers, f)
	return f
}

// follow measures the failover under way after each event that may tell something new of it.
func (b *Board) follow(e timeline.Event) {
	f := b.open()
	if f == nil {
		return
	}
	if n := len(b.away); n > 0 && b.away[n-1].to == forever {
		f.end = max(f.end, e.Seconds+giveUpSeconds) // nobody can take over, or be seen to
	}
	complete := f.Trial.Complete()
	if tells := e.Kind == timeline.WorkSeen || e.Kind == timeline.LogLine && e.Log.Message == api.MessageReconcile; !tells || !complete && f.Trial.HolderAfter != nil {
		b.measure(f)
	}
	if f.Trial.HolderAfter != nil && f.worked == 0 && (f.Trial.GapSeconds != nil || b.config.Followed) {
		f.worked = e.Seconds
	}
	switch {
	case e.Kind == timeline.TrialEnded:
		b.close(e.Seconds)
	case f.Sign != "" && f.worked > 0 && e.Seconds > f.worked+tailSeconds, e.Seconds > f.end:
		b.close(e.Seconds)
	}
}

func (b *Board) measure(f *Failover) {
	if !f.recorded {
		f.Trial = timeline.Measure(timeline.Cut(b.recent.events, f.Number), f.Number)
		if f.Sign == expiredSign && f.Trial.Class == timeline.Stolen {
			f.Trial.Class = timeline.Expired // its age was known from its renewTime, and by no renewal that was seen
		}
		b.expect(f)
		if t5, took := f.Trial.Instant(timeline.T5); took && f.alone > 0 && f.Trial.LockGapSeconds == nil {
			gap := f.T0 + t5 - f.alone
			f.Trial.LockGapSeconds, f.Predicted = &gap, gapless // the model counts from the end of a holder's process
		}
	}
}

// Measured takes what a run's own record says of the failover that was announced last: that, and nothing that differs from
// it by the arrival of an event, is shown.
func (b *Board) Measured(t timeline.Trial) {
	t = t.Visible()
	for i := len(b.failovers) - 1; i >= 0; i-- {
		if f := b.failovers[i]; f.Sign == "" {
			f.Trial, f.recorded = t, true
			b.expect(f)
			if t.Complete() && f.worked == 0 {
				f.worked = f.T0 + *t.GapSeconds
			}
			return
		}
	}
}

// expect predicts the class that was seen, or the one that what was seen so far leads to.
func (b *Board) expect(f *Failover) {
	header := b.config.Header
	header.Timing = b.Config().Timing
	in := header.Input(fault.Mode(f.Fault.Mode), len(f.Fault.Standbys))
	in.StopSeconds = f.Trial.StopSeconds()
	class := f.Trial.Class
	if class == "" || class == timeline.Unknown {
		class = f.expected(in)
	}
	f.Class, f.Predicted = class, predict(in, class)
}

// gapless is the prediction of what has no model.
var gapless gap.Prediction

// predict is the model's range; the zero Prediction for a class that has no model.
func predict(in gap.Input, class timeline.Class) gap.Prediction {
	switch {
	case class == timeline.Stolen || class == timeline.Deleted || in.Timing.LeaseDuration <= 0 || in.Timing.RetryPeriod <= 0:
		return gap.Prediction{}
	case in.Standbys < 1 && in.ReplacementStart <= 0:
		in.Standbys = 1
	}
	return gap.Range(in, class)
}

// expected is the class to expect of what was seen so far.
func (f *Failover) expected(in gap.Input) timeline.Class {
	_, freed := f.Trial.Instant(timeline.T4)
	_, ended := f.Trial.Instant(timeline.T3)
	switch {
	case freed:
		return timeline.Released
	case f.Sign == "":
		if class := in.Class(); class != timeline.Released || !ended {
			return class
		}
		return timeline.Expired // it ended and left the Lease held
	case f.Sign == "pod deleted" || f.Sign == "pod removed":
		if !ended && !in.KeepsLease {
			return timeline.Released
		}
	}
	return timeline.Expired
}

// renewal returns the index of the last write in a holder's name at or before a moment; -1 if there was none.
func (b *Board) renewal(at float64) int {
	for i := b.writeAt(at); i >= 0; i-- {
		if l := b.writes[i].lease; l != nil && l.Holder != "" && b.writes[i].turn != Lost {
			return i
		}
	}
	return -1
}

// seen returns the failover as it was known at a moment; nil before its beginning.
func (f *Failover) seen(at float64) *Failover {
	if at < f.T0 {
		return nil
	}
	out := *f
	known := func(name string) bool { t, ok := f.Trial.Instant(name); return ok && f.T0+t <= at }
	if !known(timeline.T5) {
		out.Trial.HolderAfter, out.Trial.TransitionsAfter, out.Trial.LockGapSeconds, out.Trial.Winner = nil, nil, nil, ""
		out.Trial.Class = timeline.Unknown
	}
	out.Ended = at >= f.over
	if !known(timeline.T7) {
		out.Trial.GapSeconds, out.Trial.OverlapSeconds = nil, nil
	}
	out.Trial.InstantsSeconds = map[string]float64{}
	for name, t := range f.Trial.InstantsSeconds {
		if f.T0+t <= at {
			out.Trial.InstantsSeconds[name] = t
		}
	}
	return &out
}
