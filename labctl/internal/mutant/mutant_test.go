package mutant

import (
	"regexp"
	"slices"
	"strings"
	"testing"

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
	known := []string{alarmClass, alarmOverlap, alarmUnheld, alarmNobody, alarmPanic, alarmMoved, alarmStart, alarmAny}
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
		case !slices.Contains(known, m.Alarm) || m.Fault == "" || m.Expect == "" || m.Replicas < 1 || m.Timing.Validate() != nil:
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

func names(alarms []Alarm) string {
	var out []string
	for _, a := range alarms {
		out = append(out, a.Name)
	}
	return strings.Join(out, " ")
}

func TestAlarms(t *testing.T) {
	in := gap.Input{Timing: api.Fast(), Mode: fault.Graceful, Standbys: 1}
	good := func() timeline.Trial {
		return timeline.Trial{Mode: "graceful", Class: timeline.Released, Winner: timeline.Standby, LockGapSeconds: new(1.2), OverlapSeconds: new(0.0), TransitionsAfter: new(1)}
	}
	for name, c := range map[string]struct {
		change func(*timeline.Trial)
		events []timeline.Event
		want   string
	}{
		"a right operator":         {func(*timeline.Trial) {}, []timeline.Event{lease(1, "a"), reconcile("a"), exit(0), exit(137)}, ""},
		"two leaders":              {func(t *timeline.Trial) { t.OverlapSeconds = new(2.0) }, nil, alarmOverlap},
		"no release":               {func(t *timeline.Trial) { t.Class, t.LockGapSeconds = timeline.Expired, new(6.0) }, nil, alarmClass},
		"nobody":                   {func(t *timeline.Trial) { t.Void, t.Class = timeline.VoidNoHolder, timeline.Unknown }, nil, alarmNobody},
		"a disturbed trial":        {func(t *timeline.Trial) { t.Void, t.OverlapSeconds = "a hole", new(2.0) }, []timeline.Event{exit(2)}, ""},
		"work without the Lease":   {func(*timeline.Trial) {}, []timeline.Event{lease(1, "a"), reconcile("a"), reconcile("b")}, alarmUnheld},
		"a panic":                  {func(*timeline.Trial) {}, []timeline.Event{exit(2)}, alarmPanic},
		"a gap that is too long":   {func(t *timeline.Trial) { t.LockGapSeconds = new(4.0) }, nil, "gap-in-band"},
		"a work of both that held": {func(*timeline.Trial) {}, []timeline.Event{lease(1, "a"), reconcile("b"), lease(2, "b")}, ""},
	} {
		trial := good()
		c.change(&trial)
		if got := names(Alarms(c.events, trial, in)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestMoved(t *testing.T) {
	for name, c := range map[string]struct {
		events []timeline.Event
		moved  bool
	}{
		"nothing":   {nil, false},
		"renewals":  {[]timeline.Event{lease(1, "a"), lease(2, "a"), lease(3, "a")}, false},
		"a theft":   {[]timeline.Event{lease(1, "a"), lease(2, "b")}, true},
		"a release": {[]timeline.Event{lease(1, "a"), lease(2, "")}, true},
	} {
		if got := Moved(c.events); (len(got) > 0) != c.moved {
			t.Errorf("%s: got %v", name, got)
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
	if _, caught := forLife.Caught([]Alarm{{Name: alarmNobody}}); !caught {
		t.Error("any alarm tells of for-life")
	}
}
