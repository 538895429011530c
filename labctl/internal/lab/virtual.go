package lab

import (
	"errors"
	"time"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// WriteRecord makes a run's folder in runs of events that were not observed but simulated, with all the files that a measured
// run has, and returns what the events give. now names the folder.
func WriteRecord(runs string, now time.Time, info RunInfo, events []timeline.Event) (report.Failover, error) {
	info.Schema, info.Kind = report.Schema, kindRun
	folder, err := newFolder(runs, now, info)
	if err != nil {
		return report.Failover{}, err
	}
	for _, e := range events {
		folder.Append(e) // the first error sticks and is reported by finish
	}
	result := Record{Path: folder.Path, Info: info, Events: events}.Report()
	return result, errors.Join(folder.finish(result), folder.close())
}
