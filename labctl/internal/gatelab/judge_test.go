package gatelab

import (
	"reflect"
	"testing"
	"time"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/lease/gate/model"
)

func at(second int) time.Time { return time.Unix(int64(second), 0) }

// change is one of the cluster's if its Job begins with c.
func change(version uint64, second int, kind ChangeKind, job string) Change {
	return Change{Version: version, At: at(second), Kind: kind, Job: job, Cluster: job[0] == 'c'}
}

func TestJudge_GoesByTheOrderInWhichThingsWereStored(t *testing.T) {
	// They arrive in another order: two watches.
	j := Judge([]Change{
		change(50, 9, JobCreated, "c1"), change(10, 1, JobCreated, "m1"), change(30, 3, JobCreated, "m2"), change(20, 2, LeaseTaken, "c1"),
		change(45, 8, JobFinished, "m2"), change(40, 5, JobFinished, "m1"), change(60, 12, JobFinished, "c1"), change(61, 13, JobCreated, "m3"),
	})
	after := 1.0
	want := Judgement{Operations: 4, Done: 3, Overlaps: []string{}, Turns: []Turn{{Job: "c1", InFlight: 1, Begun: 1, WaitedSeconds: 7, AfterLastSeconds: &after}}, Open: []Turn{}}
	if !reflect.DeepEqual(j, want) {
		t.Errorf("got %+v, want %+v", j, want)
	}
}

func TestJudge_FindsEachOverlap(t *testing.T) {
	j := Judge([]Change{change(1, 1, JobCreated, "m1"), change(2, 2, JobCreated, "m2"), change(3, 3, JobCreated, "c1"), change(4, 4, JobFinished, "m1"), change(5, 5, JobCreated, "m3")})
	if want := []string{"c1 began while m1 ran", "c1 began while m2 ran", "m3 began while c1 ran"}; !reflect.DeepEqual(j.Overlaps, want) {
		t.Errorf("got %q, want %q", j.Overlaps, want)
	}
}

// A cluster that never gets its Job is as much a turn as one that does: at the end, and when it takes its lease anew.
func TestJudge_KeepsATurnThatNeverBegan(t *testing.T) {
	j := Judge([]Change{
		change(1, 1, LeaseTaken, "c1"), change(2, 2, JobCreated, "m1"), change(3, 3, LeaseTaken, "c2"), change(4, 4, JobCreated, "m2"), change(5, 5, JobCreated, "m3"),
	})
	want := []Turn{{Job: "c1", Begun: 1, WaitedSeconds: 2}, {Job: "c2", InFlight: 1, Begun: 2, WaitedSeconds: 2}}
	if !reflect.DeepEqual(j.Open, want) || len(j.Turns) != 0 {
		t.Errorf("got open %+v and turns %+v, want %+v and none", j.Open, j.Turns, want)
	}
}

// A Job that failed, or was deleted, was not done.
func TestJudge_CountsWhatWasDone(t *testing.T) {
	failed := change(4, 4, JobFinished, "m2")
	failed.Failed = true
	j := Judge([]Change{change(1, 1, JobCreated, "m1"), change(2, 2, JobCreated, "m2"), change(3, 3, JobFinished, "m1"), failed, change(5, 5, JobCreated, "m3")})
	if j.Operations != 3 || j.Done != 1 {
		t.Errorf("got %d operations and %d done, want 3 and 1", j.Operations, j.Done)
	}
}

// What replay reads must be whole: each event with the part that belongs to it, in order.
func TestTimeline_TellsATraceAsARun(t *testing.T) {
	r, err := model.Find(t.Context(), model.Swapped)
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	path, err := Record(runs, at(0), model.Swapped, r)
	if err != nil || path == "" {
		t.Fatal(path, err)
	}
	lines, holder := 0, ""
	for _, e := range Timeline(model.Swapped, r) {
		switch e.Kind {
		case timeline.LogLine:
			lines++
		case timeline.LeaseSeen:
			holder = e.Lease.Holder
		}
	}
	if lines != len(r.Trace) || holder != "cluster-a" {
		t.Errorf("got %d lines of %d and the holder %q", lines, len(r.Trace), holder)
	}
}
