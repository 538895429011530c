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
	_, err := Read(strings.NewReader("{\"t\":1}\nnonsense\n{\"t\":2}\n"))
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
