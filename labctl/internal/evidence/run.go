package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/pulse"
	"academy.example/lab/labctl/internal/timeline"
)

// What a run may have: as much as labctl makes.
const (
	mostEvents = 250_000
	mostTrials = 1000
	mostLanes  = 32
)

// same reports whether labctls of these versions measure and judge alike.
func same(a, b string) bool { return provider.SameVersion(a, b) }

// run measures a run of the archive again, and says where its files contradict each other.
func (v *verifying) run(name string, member *Membership, edited map[string]bool) (own run, ok bool) {
	at := func(file string) string { return RunPath(name, file) }
	for _, file := range []string{runFile, eventsFile} {
		if v.bundle.Files[at(file)] == nil {
			if !edited[at(file)] { // else that is told
				v.findings.fail(Missing, at(file), "the run has no %s", file)
			}
			v.spoiled = true
			return own, false
		}
	}
	info, err := lab.ParseInfo(at(runFile), v.bundle.Files[at(runFile)])
	if err != nil {
		v.unread(at(runFile), v.bundle.Files[at(runFile)], err)
		return own, false
	}
	record := lab.Record{Path: name, Info: info}
	if record.Events, err = events(v.bundle.Files[at(eventsFile)]); err != nil {
		v.findings.fail(Contradiction, at(eventsFile), "%v", err)
		return own, false
	}
	before := len(v.findings)
	measured := record.Report()
	own = run{Run: recorded.Run{Name: name, Lab: info.Lab, StartedAt: info.StartedAt, Failover: measured, NoHeartbeat: pulse.Silence(record.Events)}, seed: info.Seed, modes: info.Modes, events: record.Events}
	own.traces = own.traced()
	v.compare(record, measured.Verdict, own.Trials, edited[at(trialsFile)])
	v.agrees(record)
	v.drawn(record, member)
	for _, f := range v.findings[before:] {
		if f.Verdict == check.Fail {
			own.Edited = append(own.Edited, f.Reason)
		}
	}
	for _, file := range []string{runFile, eventsFile, trialsFile} {
		if edited[at(file)] {
			own.Edited = append(own.Edited, file+" is not what the manifest says")
		}
	}
	v.spoiled = v.spoiled || len(own.Edited) > 0
	return own, true
}

// unread tells of a run.json that is of another schema, or none.
func (v *verifying) unread(file string, data []byte, err error) {
	var about struct{ Schema, Kind string }
	if json.Unmarshal(data, &about) == nil && about.Schema != v.bundle.Manifest.Schema {
		v.findings.unknown(Version, file, "%v", err)
		v.unreadRun = true
		return
	}
	v.findings.fail(Contradiction, file, "%v", err)
}

// events reads a timeline, and refuses one that no run of labctl makes.
func events(data []byte) ([]timeline.Event, error) {
	if n := lines(data); n > mostEvents {
		return nil, fmt.Errorf("it has %d lines; a run has %d events at most", n, mostEvents)
	}
	out, err := timeline.Read(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for _, e := range out {
		if e.Trial > mostTrials || e.Lane > mostLanes {
			return nil, fmt.Errorf("it has trial %d on lane %d; a run has %d trials and %d lanes at most", e.Trial, e.Lane, mostTrials, mostLanes)
		}
	}
	return out, nil
}

// compare holds trials.json against the trials that the events give. A killed run may have none; one that came to its end has it.
func (v *verifying) compare(r lab.Record, verdict check.Verdict, trials []timeline.Trial, told bool) {
	file := RunPath(r.Path, trialsFile)
	data, ok := v.bundle.Files[file]
	if !ok {
		ended := slices.ContainsFunc(r.Events, func(e timeline.Event) bool { return e.Kind == timeline.RunEnded })
		if ended && !told {
			v.findings.fail(Missing, file, "the run came to its end, where labctl writes %s: it was taken out", trialsFile)
		}
		return
	}
	differences, err := lab.Differences(data, trials)
	if err != nil {
		v.findings.fail(Contradiction, file, "%v", err)
		return
	}
	say := v.findings.fail
	if !same(r.Info.Labctl, v.course.Version) { // it may have measured otherwise
		say = v.findings.unknown
	}
	if n := len(differences); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" (and %d more)", n-1)
		}
		say(Contradiction, file, "%s%s", differences[0], more)
		return
	}
	var said struct{ Verdict check.Verdict }
	if json.Unmarshal(data, &said) == nil && said.Verdict != verdict && r.Info.Labctl == v.course.Version {
		v.findings.fail(Contradiction, file, "it says that the verdict is %s, the events give %s", said.Verdict, verdict)
	}
}

// drawn holds the phases against the seed, and the seed against the class.
func (v *verifying) drawn(r lab.Record, member *Membership) {
	file := RunPath(r.Path, runFile)
	if r.Info.Virtual() {
		v.findings.fail(Contradiction, file, "it was played in virtual time, and is no evidence of a measurement")
		return
	}
	say := v.findings.fail
	if !same(r.Info.Labctl, v.course.Version) {
		say = v.findings.unknown
	}
	if n, lane := undrawn(r); n > 0 {
		say(Contradiction, RunPath(r.Path, eventsFile), "the phase of trial %d (lane %d) is none that the seed of run.json draws", n, lane)
	}
	var given []fault.Mode
	for _, m := range r.Info.Modes {
		given = append(given, fault.Mode(m))
	}
	switch {
	case member == nil:
	case !member.Drew(r.Info.Seed):
		v.undrawn = append(v.undrawn, r.Path)
	case !slices.Equal(Order(given, r.Info.Seed), given):
		say(ClassWrong, file, "the order of its modes does not follow from its seed")
	}
}

// mostRedrawn is how many phases may be drawn for a trial: anew each time that the lab did not stay settled before the fault.
const mostRedrawn = 25

// undrawn returns the first trial whose phase the seed does not draw, and its lane; 0 if there is none.
func undrawn(r lab.Record) (trial, lane int) {
	phases := map[int][]float64{}
	trials := map[int][]int{}
	for _, e := range r.Events {
		if e.Kind == timeline.FaultIssued {
			phases[e.Lane] = append(phases[e.Lane], e.Fault.PhaseSeconds)
			trials[e.Lane] = append(trials[e.Lane], e.Trial)
		}
	}
	for lane := range mostLanes + 1 {
		if len(phases[lane]) == 0 {
			continue
		}
		drawn := lab.Phases(r.Info.Seed, lane, r.Info.Timing, mostRedrawn*(len(phases[lane])+1))
		at := 0
		for i, phase := range phases[lane] {
			for at < len(drawn) && !close(drawn[at].Seconds(), phase) {
				at++
			}
			if at == len(drawn) {
				return trials[lane][i], lane
			}
			at++
		}
	}
	return 0, 0
}

// close reports whether two times are the same but for how they were written.
func close(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
