package timeline

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestWriter_ReadGivesBackWhatWasAppended(t *testing.T) {
	want := steady().fault(9, "kill").lease(24, "other", 4).events
	var file bytes.Buffer
	w := NewWriter(&file)
	for _, e := range want {
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %d events that differ from the %d written", len(got), len(want))
	}
}

func TestRead_ALastLineCutShortIsDropped(t *testing.T) {
	got, err := Read(strings.NewReader(`{"t":1,"wall":"2026-11-30T12:00:00Z","kind":"settled"}` + "\n" + `{"t":2,"wa`))
	if err != nil || len(got) != 1 {
		t.Errorf("got %d events, error %v; want the one whole event", len(got), err)
	}
}

func TestRead_ABrokenLineInTheMiddleIsNamed(t *testing.T) {
	_, err := Read(strings.NewReader(`{"t":1,"kind":"run-started"}` + "\nnonsense\n" + `{"t":2,"kind":"run-ended"}` + "\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got error %v, want one that names line 2", err)
	}
}

func TestWinner_NotSeenIsNull(t *testing.T) {
	data, err := json.Marshal(Trial{Class: Unknown})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"winner":null`, `"gapSeconds":null`, `"overlapSeconds":null`, `"holderAfter":null`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("got %s, want it to contain %s", data, want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, bytes.ErrTooLarge }

func TestWriter_TheFirstErrorSticks(t *testing.T) {
	w := NewWriter(failing{})
	if err := w.Append(Event{}); err == nil || w.Err() == nil {
		t.Errorf("got %v and %v, want an error from both", err, w.Err())
	}
}

func TestRead_AnEventWithoutItsPartIsNamed(t *testing.T) {
	for _, kind := range []Kind{FaultIssued, ProcessUp, ProcessGone, LeaseSeen, PodSeen, PodGone, WorkSeen, LeaseRequest, Deployed, LogLine, LogHole, LogEnded} {
		_, err := Read(strings.NewReader(`{"t":1,"kind":"` + string(kind) + `"}` + "\n" + `{"t":2,"kind":"run-ended"}`))
		if err == nil || !strings.Contains(err.Error(), "line 1: an event of kind "+string(kind)+" without what belongs to it") {
			t.Errorf("%s: got error %v", kind, err)
		}
	}
}

// What no run can have written is refused with its line, also as the last one: a figure told from it would be nonsense.
func TestRead_WhatCantBeIsNamed(t *testing.T) {
	begin := `{"t":20,"kind":"run-started"}` + "\n"
	for line, want := range map[string]string{
		`null`:                                 "an event without a kind",
		`{"t":21}`:                             "an event without a kind",
		`{"t":1e300,"kind":"run-ended"}`:       "t is out of range: 1e+300",
		`{"t":-1,"kind":"run-ended"}`:          "t is out of range: -1",
		`{"t":3.68,"kind":"run-ended"}`:        "t runs backwards, from 20.000 to 3.68",
		`{"t":21,"kind":"x","trial":-1}`:       "trial is out of range: -1",
		`{"t":21,"kind":"x","lane":1e7}`:       "lane",
		`{"t":21,"kind":"x","holeSeconds":-2}`: "holeSeconds is out of range: -2",
		`{"t":21,"kind":"lease","lease":{"leaseDurationSeconds":-15}}`:       "leaseDurationSeconds is out of range: -15",
		`{"t":21,"kind":"server-away","retry":{"nextSeconds":1e300}}`:        "nextSeconds is out of range: 1e+300",
		`{"t":21,"kind":"fault-issued","fault":{"retryPeriodSeconds":1e12}}`: "retryPeriodSeconds is out of range: 1e+12",
		`{"t":21,"kind":"fault-issued","fault":{"phaseSeconds":-1}}`:         "phaseSeconds is out of range: -1",
	} {
		_, err := Read(strings.NewReader(begin + line + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want line 2 and %q", line, err, want)
		}
	}
	if _, err := Read(strings.NewReader(begin + `{"t":19.9,"kind":"run-ended"}`)); err != nil {
		t.Errorf("what several watchers stamp is a little out of order: %v", err)
	}
}
