package shelf

import (
	"strings"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// A trial that was played in virtual time answers no exercise.
func TestRuns_WhatWasSimulatedIsNoEvidence(t *testing.T) {
	runs := t.TempDir()
	release := true
	info := lab.RunInfo{Header: report.Header{Provider: report.ProviderSimulated, ReleaseOnCancel: &release, Timing: api.Default()}, Modes: []string{"kill"}, Trials: 1, Lanes: 1, Lab: "none"}
	made, err := lab.WriteRecord(runs, time.Now(), info, []timeline.Event{{Kind: timeline.RunStarted}, {Kind: timeline.RunEnded}})
	if err != nil {
		t.Fatal(err)
	}
	if got, skipped := Runs(runs, "", time.Time{}); len(got) != 0 || len(skipped) != 0 {
		t.Errorf("got %d runs, %v", len(got), skipped)
	}
	if _, err := Run(made.Run); err == nil || !strings.Contains(err.Error(), "was simulated, and not measured") {
		t.Errorf("got %v", err)
	}
}
