package gatelab

import (
	"fmt"
	"strconv"
	"time"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate/model"
)

// virtual is where the times of a trace begin, and step how far apart two events are that no time lies between.
var virtual = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const step = 10 * time.Millisecond

// Timeline is a trace as the events of a run: each step a line of its actor's log, and the cluster lease as its holders change.
func Timeline(v model.Variant, r model.Report) []timeline.Event {
	note := fmt.Sprintf("labctl gate check --variant %s", v)
	events := []timeline.Event{{Wall: virtual, Kind: timeline.RunStarted, Note: note}}
	holder := ""
	for i, e := range r.Trace {
		at := time.Duration(e.Seconds)*time.Second + time.Duration(i+1)*step
		wall := virtual.Add(at)
		events = append(events, timeline.Event{Seconds: at.Seconds(), Wall: wall, Kind: timeline.LogLine, Log: &timeline.Log{Pod: e.Actor, UID: e.Actor, Time: wall, Level: "INFO", Message: e.Text}})
		if e.Holder != holder {
			holder = e.Holder
			events = append(events, timeline.Event{Seconds: at.Seconds(), Wall: wall, Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: holder, LeaseDurationSeconds: 4500,
				AcquireTime: wall, RenewTime: wall, ResourceVersion: strconv.Itoa(i)}})
		}
	}
	last := events[len(events)-1]
	return append(events, timeline.Event{Seconds: last.Seconds, Wall: last.Wall, Kind: timeline.RunEnded, Note: r.Violation})
}

// Record makes a run's folder of a trace, which `labctl replay` shows.
func Record(runs string, now time.Time, v model.Variant, r model.Report) (path string, err error) {
	events := Timeline(v, r)
	release := false
	info := lab.RunInfo{Header: report.Header{Provider: report.ProviderSimulated, Operator: api.DefaultNamespace + "/" + api.GateName, Lease: api.DefaultNamespace + "/cluster-lease",
		Election: api.ElectionGuarded, Identity: api.IdentityPodUUID, ReleaseOnCancel: &release, Timing: api.Default()},
		Modes: []string{}, Lanes: 1, StartedAt: virtual, Labctl: provider.Version(), Lab: "none"}
	result, err := lab.WriteRecord(runs, now, info, events)
	return result.Run, err
}
