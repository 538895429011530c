package mutant

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Names of alarms: checks of package check, and those that only this package has.
const (
	alarmClass   = "class-expected"
	alarmOverlap = "overlap-none"
	alarmUnheld  = "unheld-work" // a replica that never held the Lease worked
	alarmNobody  = "no-successor"
	alarmPanic   = "exit-code"
	alarmMoved   = "lease-moved" // the Lease changed hands although nothing was done
	NotReady     = "start"       // the replicas did not become ready, with a leader
)

// Alarm is something that a right operator does not do.
type Alarm struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Seconds is its size: how long two led, or 0 if it has none.
	Seconds float64 `json:"seconds"`
}

// Look is what one trial told. A rule without an alarm has passed only if it is not among the unseen.
type Look struct {
	Alarms []Alarm
	Unseen []Alarm // the rules that could not be judged, and why
}

// Missed returns the first of these rules that could not be judged.
func (l Look) Missed(rules []string) (Alarm, bool) {
	i := slices.IndexFunc(l.Unseen, func(a Alarm) bool { return slices.Contains(rules, a.Name) })
	if i < 0 {
		return Alarm{}, false
	}
	return l.Unseen[i], true
}

// judged are the rules of package check whose failure is an alarm. Those about the configured durations and about the sums of
// requests are about the instrument.
var judged = []string{alarmClass, alarmOverlap, check.GapInBand, "transitions"}

// Judge returns what is wrong in a finished trial, and what could not be seen of it; events are those of its lane, and in what the
// model is told. A trial that was disturbed raises no alarm, unless nobody took the Lease over.
func Judge(events []timeline.Event, trial int, t timeline.Trial, in gap.Input) Look {
	var out Look
	t.Errors = slices.DeleteFunc(slices.Clone(t.Errors), func(e string) bool { // what a process cuts off at its own end explains nothing
		return strings.Contains(e, context.Canceled.Error())
	})
	for _, c := range check.Only([]check.Case{{Trial: t, Input: in}}, judged...) {
		a := Alarm{Name: c.Name, Reason: c.Reason[strings.Index(c.Reason, "): ")+len("): "):]}
		if !strings.HasPrefix(c.Reason, "trial 1 (") {
			a.Reason = c.Reason
		}
		switch {
		case c.Verdict == check.Fail && c.Name == alarmOverlap && t.OverlapSeconds != nil:
			a.Seconds = *t.OverlapSeconds
			fallthrough
		case c.Verdict == check.Fail:
			out.Alarms = append(out.Alarms, a)
		case c.Verdict == check.Unknown:
			a.Reason = cmp.Or(t.Void, a.Reason)
			out.Unseen = append(out.Unseen, a)
		}
	}
	nobody := t.Void == timeline.VoidNoHolder
	if nobody {
		out.Alarms = append(out.Alarms, Alarm{Name: alarmNobody, Reason: "nobody took the Lease over"})
	}
	if t.Void != "" && !nobody {
		for _, name := range []string{alarmNobody, alarmUnheld, alarmPanic} {
			out.Unseen = append(out.Unseen, Alarm{Name: name, Reason: t.Void})
		}
		return out
	}
	own := timeline.Cut(events, trial)
	out.add(alarmUnheld, unheld(events, own), unlogged(events, own))
	out.add(alarmPanic, exits(own), untold(events))
	return out
}

// add takes a rule's alarms or, if there are none, why it could not be judged; "" if it could.
func (l *Look) add(rule string, alarms []Alarm, unseen string) {
	l.Alarms = append(l.Alarms, alarms...)
	if len(alarms) == 0 && unseen != "" {
		l.Unseen = append(l.Unseen, Alarm{Name: rule, Reason: unseen})
	}
}

// unheld finds work, in a trial's own events, of replicas that never held the Lease in any of the lane's.
func unheld(events, own []timeline.Event) []Alarm {
	held, worked := map[string]bool{}, map[string]int{}
	var order []string
	for _, e := range events {
		if e.Kind == timeline.LeaseSeen && e.Lease != nil {
			held[e.Lease.Holder] = true
		}
	}
	for _, e := range own {
		if works(e) {
			if worked[e.Log.Identity]++; worked[e.Log.Identity] == 1 {
				order = append(order, e.Log.Identity)
			}
		}
	}
	var alarms []Alarm
	for _, who := range order {
		if !held[who] {
			alarms = append(alarms, Alarm{Name: alarmUnheld, Reason: fmt.Sprintf("%s, which never held the Lease, reconciled %d times", who, worked[who]),
				Seconds: float64(worked[who]) * api.WorkTick.Seconds()})
		}
	}
	return alarms
}

// works reports whether the event is a line of a replica that says it works.
func works(e timeline.Event) bool {
	return e.Kind == timeline.LogLine && e.Log != nil && e.Log.Message == api.MessageReconcile && e.Log.Identity != ""
}

// unlogged says why the work of all replicas was not seen in a trial; "" if it was.
func unlogged(events, own []timeline.Event) string {
	heard, worked := map[string]bool{}, false
	for _, e := range events {
		if e.Kind == timeline.LogLine && e.Log != nil && e.Log.Identity != "" {
			heard[e.Log.UID] = true
		}
	}
	for _, e := range own {
		worked = worked || works(e)
		switch {
		case e.Kind == timeline.LogHole && e.Log != nil:
			return "lines of the log of " + e.Log.Pod + " may be missing"
		case e.Kind == timeline.PodSeen && e.Pod != nil && e.Pod.Ready && !heard[e.Pod.UID]:
			return e.Pod.Name + " was ready, and no line of its log was seen that names its identity"
		}
	}
	if !worked {
		return "no replica logged " + api.MessageReconcile
	}
	return ""
}

// untold says why the exit codes of a lane's processes are not known; "" if they are.
func untold(events []timeline.Event) string {
	for _, e := range events {
		if e.Kind == timeline.ProcessUp {
			return ""
		}
	}
	return "the node tells of no process"
}

// exits finds processes that ended with a code that the operator does not end with, and by no signal.
func exits(events []timeline.Event) []Alarm {
	for _, e := range events {
		if e.Kind != timeline.ProcessGone || e.Process == nil {
			continue
		}
		switch code := e.Process.ExitCode; {
		case code == api.ExitStopped, code == api.ExitLost, code == api.ExitUnreleased, code >= 128: // 128 and a signal's number
		default:
			return []Alarm{{Name: alarmPanic, Reason: fmt.Sprintf("%s ended with exit code %d", e.Process.Pod, code)}}
		}
	}
	return nil
}

// Moved judges the events of a lane to which nothing was done, until the instant now in run seconds: it is an alarm if the Lease changed
// hands. quiet is the longest that a healthy holder is not heard.
func Moved(events []timeline.Event, now float64, quiet time.Duration) Look {
	unseen := func(reason string) Look { return Look{Unseen: []Alarm{{Name: alarmMoved, Reason: reason}}} }
	holder, from, last := "", 0.0, -1.0
	var moved *Alarm
	for _, e := range events {
		switch {
		case e.Kind == timeline.WatchHole || e.Kind == timeline.ServerAway:
			return unseen(e.Note)
		case e.Kind != timeline.LeaseSeen || e.Lease == nil:
			continue
		case holder == "":
			holder, from = e.Lease.Holder, e.Seconds
		case e.Lease.Holder != holder && moved == nil:
			to := cmp.Or(e.Lease.Holder, "nobody")
			moved = &Alarm{Name: alarmMoved, Reason: fmt.Sprintf("after %.1f s the Lease went from %s to %s, and nothing had been done", e.Seconds-from, holder, to), Seconds: e.Seconds - from}
		}
		last = e.Seconds
	}
	switch {
	case moved != nil:
		return Look{Alarms: []Alarm{*moved}}
	case last < 0:
		return unseen("no renewal was seen")
	case now-last > quiet.Seconds():
		return unseen(fmt.Sprintf("no renewal was seen in the last %.1f s", now-last))
	default:
		return Look{}
	}
}

// Rules are the names of the checks that a trial has to judge: those that the mutant, or each that a reference stands for, is known by.
func (m Mutant) Rules() []string {
	if len(m.For) == 0 {
		return strings.Split(m.Alarm, ", ")
	}
	var rules []string
	for _, each := range m.For {
		rules = append(rules, each.Rules()...)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// Caught returns the alarm that the mutant is known by, if it is among those.
func (m Mutant) Caught(alarms []Alarm) (Alarm, bool) {
	rules := m.Rules()
	for _, a := range alarms {
		if slices.Contains(rules, a.Name) {
			return a, true
		}
	}
	return Alarm{}, false
}
