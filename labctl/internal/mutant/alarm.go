package mutant

import (
	"fmt"
	"strings"

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
	alarmStart   = "start"       // the replicas did not become ready, with a leader
	alarmAny     = ""            // any of them
)

// Alarm is something that a right operator does not do.
type Alarm struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// Seconds is its size: how long two led, or 0 if it has none.
	Seconds float64 `json:"seconds"`
}

// judged are the rules of package check whose failure is an alarm. Those about the configured durations and about the sums of
// requests are about the instrument.
var judged = []string{alarmClass, alarmOverlap, check.GapInBand, "transitions"}

// Alarms returns what is wrong in a finished trial; events are those of its lane, and in what the model is told.
// A trial that was disturbed raises none, unless nobody took the Lease over.
func Alarms(events []timeline.Event, t timeline.Trial, in gap.Input) []Alarm {
	var alarms []Alarm
	for _, c := range check.Only([]check.Case{{Trial: t, Input: in}}, judged...) {
		if c.Verdict == check.Fail {
			a := Alarm{Name: c.Name, Reason: c.Reason[strings.Index(c.Reason, ": ")+2:]}
			if c.Name == alarmOverlap && t.OverlapSeconds != nil {
				a.Seconds = *t.OverlapSeconds
			}
			alarms = append(alarms, a)
		}
	}
	if t.Void == timeline.VoidNoHolder {
		alarms = append(alarms, Alarm{Name: alarmNobody, Reason: "nobody took the Lease over"})
	}
	if t.Void == "" || t.Void == timeline.VoidNoHolder {
		alarms = append(alarms, unheld(events)...)
		alarms = append(alarms, exits(events)...)
	}
	return alarms
}

// unheld finds work of replicas that never held the Lease.
func unheld(events []timeline.Event) []Alarm {
	held, worked := map[string]bool{}, map[string]int{}
	var order []string
	for _, e := range events {
		switch {
		case e.Kind == timeline.LeaseSeen && e.Lease != nil:
			held[e.Lease.Holder] = true
		case e.Kind == timeline.LogLine && e.Log != nil && e.Log.Message == api.MessageReconcile && e.Log.Identity != "":
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

// Moved returns an alarm if the Lease changed hands in the events of a lane to which nothing was done.
func Moved(events []timeline.Event) []Alarm {
	holder, from := "", 0.0
	for _, e := range events {
		switch {
		case e.Kind != timeline.LeaseSeen || e.Lease == nil:
		case holder == "":
			holder, from = e.Lease.Holder, e.Seconds
		case e.Lease.Holder != holder:
			to := e.Lease.Holder
			if to == "" {
				to = "nobody"
			}
			return []Alarm{{Name: alarmMoved, Reason: fmt.Sprintf("after %.1f s the Lease went from %s to %s, and nothing had been done", e.Seconds-from, holder, to), Seconds: e.Seconds - from}}
		}
	}
	return nil
}

// NotStarted is the alarm that the replicas did not become ready, with a leader.
func NotStarted(why string) Alarm { return Alarm{Name: alarmStart, Reason: why} }

// Caught returns the alarm that the mutant is known by, if it is among those.
func (m Mutant) Caught(alarms []Alarm) (Alarm, bool) {
	for _, a := range alarms {
		if m.Alarm == alarmAny || a.Name == m.Alarm {
			return a, true
		}
	}
	return Alarm{}, false
}
