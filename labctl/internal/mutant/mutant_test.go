package mutant

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestAll_EachComesFromAReportAndIsExposed(t *testing.T) {
	all := All()
	if len(all) < 10 {
		t.Errorf("%d mutants, want at least ten", len(all))
	}
	report := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	known := []string{alarmClass, alarmOverlap, alarmUnheld, alarmNobody, alarmPanic, alarmMoved, NotReady}
	seen := map[string]bool{}
	for _, m := range all {
		_, mode := fault.Describe(m.Mode)
		switch {
		case seen[m.Name]:
			t.Errorf("%s is there twice", m.Name)
		case !report.MatchString(m.Report):
			t.Errorf("%s: %q is no report", m.Name, m.Report)
		case !mode && m.Mode != Start && m.Mode != Untouched:
			t.Errorf("%s: nothing does %q", m.Name, m.Mode)
		case slices.ContainsFunc(m.Rules(), func(r string) bool { return !slices.Contains(known, r) }) || m.Needs < 1 || (m.Begins != nil) != (m.Mode == Start) || m.Fault == "" || m.Expect == "" || m.Replicas < 1 || m.Timing.Validate() != nil:
			t.Errorf("%s is not whole: %+v", m.Name, m)
		case m.Patched != slices.Contains(api.Mutants(), m.Name) || len(m.Flags) != 1 || m.Patched && m.Flags[0] != "--"+api.FlagMutant+"="+m.Name:
			t.Errorf("%s: patched %t with %v, and academy-mutants has %v", m.Name, m.Patched, m.Flags, api.Mutants())
		}
		seen[m.Name] = true
	}
	for _, name := range api.Mutants() {
		if !seen[name] {
			t.Errorf("academy-mutants has %s, which nothing exposes", name)
		}
	}
}

func TestReferences_AreEachWayOnce(t *testing.T) {
	all := All()
	got := References(Reference, append(all, all...))
	for _, m := range all {
		n := 0
		for _, r := range got {
			if r.Mode == m.Mode && r.Timing == m.Timing && r.Replicas == m.Replicas {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s, %s, %d replicas: %d references, want 1", m.Mode, m.Timing, m.Replicas, n)
		}
	}
	for _, r := range References("own", all) {
		if r.Mode == fault.Rollout && r.Needs != 5 || r.Mode == fault.Graceful && (r.Needs != 1 || strings.Join(r.Rules(), " ") != "class-expected overlap-none") {
			t.Errorf("%s: %d trials, judged by %q", r.Mode, r.Needs, r.Rules())
		}
	}
}

func lease(at float64, holder string) timeline.Event {
	return timeline.Event{Seconds: at, Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: holder}}
}

func reconcile(who string) timeline.Event {
	return timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: who, Identity: who, Message: api.MessageReconcile}}
}

func exit(code int) timeline.Event {
	return timeline.Event{Kind: timeline.ProcessGone, Process: &timeline.Process{Pod: "a", ExitCode: code}}
}

func event(kind timeline.Kind) timeline.Event { return timeline.Event{Kind: kind, Note: "a hole"} }

func names(alarms []Alarm) string {
	var out []string
	for _, a := range alarms {
		out = append(out, a.Name)
	}
	return strings.Join(out, " ")
}

func TestJudge(t *testing.T) {
	in := gap.Input{Timing: api.Fast(), Mode: fault.Graceful, Standbys: 1}
	good := func() timeline.Trial {
		return timeline.Trial{Mode: "graceful", Class: timeline.Released, Winner: timeline.Standby, LockGapSeconds: new(1.2), OverlapSeconds: new(0.0), TransitionsAfter: new(1)}
	}
	up, hole := event(timeline.ProcessUp), timeline.Event{Kind: timeline.LogHole, Log: &timeline.Log{Pod: "a"}}
	mute := timeline.Event{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: "c", UID: "c", Ready: true}}
	all := []timeline.Event{up, lease(1, "a"), reconcile("a")}
	for name, c := range map[string]struct {
		change func(*timeline.Trial)
		events []timeline.Event
		want   string
		unseen string
	}{
		"a right operator":         {func(*timeline.Trial) {}, []timeline.Event{up, lease(1, "a"), reconcile("a"), exit(0), exit(137)}, "", ""},
		"two leaders":              {func(t *timeline.Trial) { t.OverlapSeconds = new(2.0) }, all, alarmOverlap, ""},
		"leaders not seen":         {func(t *timeline.Trial) { t.OverlapSeconds = nil }, all, "", alarmOverlap},
		"no release":               {func(t *timeline.Trial) { t.Class, t.LockGapSeconds = timeline.Expired, new(6.0) }, all, alarmClass, ""},
		"nobody":                   {func(t *timeline.Trial) { t.Void, t.Class = timeline.VoidNoHolder, timeline.Unknown }, all, alarmNobody, "class-expected gap-in-band overlap-none transitions"},
		"a disturbed trial":        {func(t *timeline.Trial) { t.Void, t.OverlapSeconds = "a hole", new(2.0) }, []timeline.Event{up, exit(2)}, "", "class-expected gap-in-band overlap-none transitions no-successor unheld-work exit-code"},
		"work without the Lease":   {func(*timeline.Trial) {}, []timeline.Event{up, lease(1, "a"), reconcile("a"), reconcile("b")}, alarmUnheld, ""},
		"no line of work":          {func(*timeline.Trial) {}, []timeline.Event{up, lease(1, "a")}, "", alarmUnheld},
		"a replica without a log":  {func(*timeline.Trial) {}, append(slices.Clone(all), mute), "", alarmUnheld},
		"a log with a hole":        {func(*timeline.Trial) {}, append(slices.Clone(all), hole), "", alarmUnheld},
		"a panic":                  {func(*timeline.Trial) {}, append(slices.Clone(all), exit(2)), alarmPanic, ""},
		"processes not seen":       {func(*timeline.Trial) {}, all[1:], "", alarmPanic},
		"a gap that is too long":   {func(t *timeline.Trial) { t.LockGapSeconds = new(4.0) }, all, "gap-in-band", ""},
		"a work of both that held": {func(*timeline.Trial) {}, []timeline.Event{up, lease(1, "a"), reconcile("b"), lease(2, "b")}, "", ""},
	} {
		trial := good()
		c.change(&trial)
		events := append([]timeline.Event{{Kind: timeline.FaultIssued, Trial: 1}}, c.events...)
		got := Judge(events, 1, trial, in)
		if names(got.Alarms) != c.want || names(got.Unseen) != c.unseen {
			t.Errorf("%s: got %q, unseen %q, want %q, unseen %q", name, names(got.Alarms), names(got.Unseen), c.want, c.unseen)
		}
		for _, a := range got.Unseen {
			if a.Reason == "" || strings.Contains(a.Reason, "trial 1") {
				t.Errorf("%s: %s is unseen because %q", name, a.Name, a.Reason)
			}
		}
	}
}

// What a trial before did is that trial's.
func TestJudge_OfItsOwnTrialAlone(t *testing.T) {
	begun := func(n int) timeline.Event { return timeline.Event{Kind: timeline.FaultIssued, Trial: n} }
	events := []timeline.Event{event(timeline.ProcessUp), lease(1, "a"), begun(1), exit(2), reconcile("b"), event(timeline.TrialEnded), begun(2), reconcile("a")}
	got := Judge(events, 2, timeline.Trial{Class: timeline.Released, OverlapSeconds: new(0.0)}, gap.Input{Timing: api.Fast(), Mode: fault.Graceful, Standbys: 1})
	if strings.Contains(names(got.Alarms), alarmPanic) || strings.Contains(names(got.Alarms), alarmUnheld) {
		t.Errorf("got %v", got.Alarms)
	}
}

func TestJudge_WhatItsEndCutsOffIsNoCause(t *testing.T) {
	trial := timeline.Trial{Class: timeline.Expired, Errors: []string{"reading a body: context canceled", "it was refused"}}
	got := Judge(nil, 1, trial, gap.Input{Timing: api.Fast(), Mode: fault.Graceful, Standbys: 1})
	if len(got.Alarms) == 0 || strings.Contains(got.Alarms[0].Reason, "canceled") || !strings.Contains(got.Alarms[0].Reason, "refused") {
		t.Errorf("got %+v", got)
	}
}

func TestMoved(t *testing.T) {
	hole := event(timeline.WatchHole)
	for name, c := range map[string]struct {
		events []timeline.Event
		moved  bool
		unseen bool
	}{
		"nothing":              {nil, false, true},
		"renewals":             {[]timeline.Event{lease(1, "a"), lease(2, "a"), lease(3, "a")}, false, false},
		"a theft":              {[]timeline.Event{lease(1, "a"), lease(2, "b")}, true, false},
		"a release":            {[]timeline.Event{lease(1, "a"), lease(2, "")}, true, false},
		"a theft after a hole": {[]timeline.Event{lease(1, "a"), hole, lease(2, "b")}, false, true},
		"a hole":               {[]timeline.Event{lease(1, "a"), hole, lease(3, "a")}, false, true},
		"silence at the end":   {[]timeline.Event{lease(1, "a"), lease(1.5, "a")}, false, true},
	} {
		if got := Moved(c.events, 6, 4*time.Second); (len(got.Alarms) > 0) != c.moved || (len(got.Unseen) > 0) != c.unseen {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// Whatever keeps a program from starting is the mutant's fault only if it has the mutant's own symptom.
func TestNotStarted_OnlyWithItsOwnSymptom(t *testing.T) {
	for name, c := range map[string]struct {
		mutant string
		begin  Begin
		own    bool
	}{
		"a panic":                  {api.MutantNoDurations, Begin{Exit: 2}, true},
		"another exit code":        {api.MutantNoDurations, Begin{Exit: 7}, false},
		"a panic, and a leader":    {api.MutantNoDurations, Begin{Exit: 2, Held: true}, false},
		"nothing ended":            {api.MutantNoDurations, Begin{}, false},
		"one of two":               {api.MutantReadyIsLeader, Begin{Ready: 1, Held: true}, true},
		"none of two":              {api.MutantReadyIsLeader, Begin{}, false},
		"one of two, and an end":   {api.MutantReadyIsLeader, Begin{Ready: 1, Held: true, Exit: 7}, false},
		"one that is no start's":   {api.MutantForLife, Begin{Exit: 7}, false},
		"one that works otherwise": {api.MutantWorksOn, Begin{}, false},
	} {
		m, _ := ByName(c.mutant)
		if _, own := m.NotStarted(c.begin); own != c.own {
			t.Errorf("%s: %s is caught: %t", name, c.mutant, own)
		}
	}
}

func TestMissed_OfTheRulesThatItIsKnownBy(t *testing.T) {
	look := Look{Unseen: []Alarm{{Name: alarmOverlap, Reason: "not seen"}}}
	for name, missed := range map[string]bool{api.MutantLivesOn: true, api.MutantZeroRelease: false} {
		m, _ := ByName(name)
		if a, got := look.Missed(m.Rules()); got != missed || got && a.Reason != "not seen" {
			t.Errorf("%s: got %+v, %t", name, a, got)
		}
	}
}

func TestCaught_ByTheAlarmThatIsNamed(t *testing.T) {
	worksOn, _ := ByName(api.MutantWorksOn)
	if _, caught := worksOn.Caught([]Alarm{{Name: alarmClass}}); caught {
		t.Error("caught by another alarm than its own")
	}
	if a, caught := worksOn.Caught([]Alarm{{Name: alarmClass}, {Name: alarmOverlap, Seconds: 2}}); !caught || a.Seconds != 2 {
		t.Errorf("got %+v, %t", a, caught)
	}
	forLife, _ := ByName(api.MutantForLife)
	for _, name := range []string{alarmNobody, alarmClass} {
		if _, caught := forLife.Caught([]Alarm{{Name: name}}); !caught {
			t.Errorf("%s does not tell of for-life", name)
		}
	}
	if _, caught := forLife.Caught([]Alarm{{Name: NotReady}}); caught {
		t.Error("for-life is caught because it did not start")
	}
}
