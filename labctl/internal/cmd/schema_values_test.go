package cmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// fixture is a real run: two lanes, kill and graceful twice each.
const fixture = "testdata/run"

func fixtureRecord(t *testing.T) lab.Record {
	t.Helper()
	r, err := lab.ReadRecord(fixture)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(filepath.Join(schemas, name))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// valid holds a JSON text against a schema.
func valid(schema *jsonschema.Schema, data []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func TestSchemas_HoldTheFixture(t *testing.T) {
	for file, name := range map[string]string{"run.json": "run.schema.json", "trials.json": "failover.schema.json"} {
		data, err := os.ReadFile(filepath.Join(fixture, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(compile(t, name), data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(fixture, "timeline.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, "event.schema.json")
	for line := range bytes.Lines(data) {
		if err := valid(schema, line); err != nil {
			t.Fatalf("%s%v", line, err)
		}
	}
}

func figure(v float64) *float64 { return &v }

// fullTrial has every field set.
func fullTrial() timeline.Trial {
	holder, transitions := "pod-b", 4
	instants, sources, lags := map[string]float64{}, map[string]timeline.Source{}, map[string]float64{}
	for _, name := range timeline.Instants() {
		instants[name], sources[name], lags[name] = 1, timeline.SourceLease, 0.01
	}
	return timeline.Trial{Mode: "kill", Class: timeline.Expired, Winner: timeline.Standby, GapSeconds: figure(17), LockGapSeconds: figure(17),
		OverlapSeconds: figure(0), UncertaintySeconds: figure(0.01), GapUncertaintySeconds: figure(0.01), OverlapUncertaintySeconds: figure(0.2),
		ClockOffsetSeconds: figure(-3600), PhaseSeconds: 1, Standbys: 1, ReplacementStartSeconds: figure(1.3), HolderBefore: "pod-a", HolderAfter: &holder,
		Terms:             &timeline.Terms{AgeSeconds: figure(1), ObservationSeconds: figure(2), LeaseDurationSeconds: figure(15), PollPhaseSeconds: 1, ResidualSeconds: -0.01},
		TransitionsBefore: 3, TransitionsAfter: &transitions, WallT0: time.Now(), InstantsSeconds: instants, Sources: sources, LagsSeconds: lags,
		Lane: 2, Kubectl: "kubectl version", Void: "no", Errors: []string{"pod-a: no"}}
}

func TestSchemas_HoldWhatIsWritten(t *testing.T) {
	header := report.Header{Provider: "embedded", Election: "plain", Identity: "pod", Timing: api.Default(), PodStartLatencySeconds: 1.2}
	full := report.NewFailover(header, []timeline.Trial{fullTrial()}, "/runs/x")
	full.CutShort("it was interrupted")
	full.Checks = append(full.Checks, check.Check{Name: "x", Verdict: check.Unknown, Reason: "y", Hint: "labctl status"})
	at := time.Now()
	everyPart := timeline.Event{Seconds: 1, Wall: at, Kind: timeline.FaultIssued, Trial: 1, Lane: 1, Note: "note", HoleSeconds: 1,
		Lease:   &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, AcquireTime: at, RenewTime: at, Transitions: 1, ResourceVersion: "7"},
		Pod:     &timeline.Pod{Name: "a", UID: "u", Hostname: "h", Phase: "Running", Ready: true, Terminating: true, Restarts: 1},
		Process: &timeline.Process{Pod: "a", UID: "u", PID: 1, ExitCode: 137, Restarts: 1, At: at},
		Work:    &timeline.Work{Object: "o", Holder: "a", Transition: 1, Sequence: 1, At: at},
		Log:     &timeline.Log{Pod: "a", UID: "u", Restarts: 1, Time: at, Level: "WARN", Message: "m", Identity: "a", Raw: "raw"},
		Request: &timeline.Request{Verb: "get", Code: 200, Pod: "a", UID: "u", Received: at, Answered: at},
		Deploy:  &timeline.Deploy{Generation: 1, Replicas: 2},
		Fault: &timeline.Fault{Mode: "kill", Pod: "a", UID: "u", Kubectl: "kubectl version", Standbys: []string{"b"}, StandbyUIDs: []string{"v"},
			PhaseSeconds: 1, RetryPeriodSeconds: 2, SharedClock: true, Foreign: true}}
	for name, c := range map[string]struct {
		schema string
		value  any
	}{
		"every field":                {"failover.schema.json", full},
		"every figure not seen":      {"failover.schema.json", report.NewFailover(header, []timeline.Trial{timeline.Measure(nil, 1)}, "")},
		"no trial":                   {"failover.schema.json", report.NewFailover(report.Header{}, nil, "")},
		"terms of a release":         {"failover.schema.json", report.NewFailover(header, []timeline.Trial{{Class: timeline.Released, InstantsSeconds: map[string]float64{}, Sources: map[string]timeline.Source{}, LagsSeconds: map[string]float64{}, Terms: &timeline.Terms{}}}, "")},
		"an event with every part":   {"event.schema.json", everyPart},
		"an event with nothing":      {"event.schema.json", timeline.Event{Kind: timeline.RunEnded}},
		"parts with nothing in them": {"event.schema.json", timeline.Event{Kind: timeline.LogLine, Lease: &timeline.Lease{}, Pod: &timeline.Pod{}, Process: &timeline.Process{}, Work: &timeline.Work{}, Log: &timeline.Log{}, Request: &timeline.Request{}, Deploy: &timeline.Deploy{}, Fault: &timeline.Fault{Standbys: []string{}, StandbyUIDs: []string{}}}},
		"a run":                      {"run.schema.json", lab.RunInfo{Header: report.Header{Schema: report.Schema, Kind: "Run"}, Modes: []string{"kill"}, Trials: 1, Lanes: 1, Seed: 1<<64 - 1}},
	} {
		data, err := json.Marshal(c.value)
		if err == nil {
			err = valid(compile(t, c.schema), data)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
}

func TestSchemas_RefuseWhatIsNotInThem(t *testing.T) {
	event := compile(t, "event.schema.json")
	for text, part := range map[string]string{
		`{"t":1,"wall":"2026-11-30T12:00:00Z","kind":"lease"}`:                          "missing property 'lease'",
		`{"t":1,"wall":"2026-11-30T12:00:00Z","kind":"run-ended","more":1}`:             "additional properties 'more' not allowed",
		`{"t":1,"wall":"2026-11-30T12:00:00Z","kind":"settled"}`:                        "value must be one of",
		`{"t":"1","wall":"2026-11-30T12:00:00Z","kind":"run-ended"}`:                    "want number",
		`{"t":1,"wall":"noon","kind":"run-ended"}`:                                      "not valid date-time",
		`{"t":1,"wall":"2026-11-30T12:00:00Z","kind":"pod-deleted","pod":{"name":"a"}}`: "missing properties",
	} {
		if err := valid(event, []byte(text)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: got %v, want an error with %q", text, err, part)
		}
	}
}
