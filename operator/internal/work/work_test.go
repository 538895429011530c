package work

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"academy.example/lab/operator/api"
)

func TestLead_FirstReconcileIsAtOnceEvenIfTheAPIHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.leases.Set(hang)
		f.react("get", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("unreachable") })
		begin := time.Now()
		stop := f.lead(t)
		synctest.Wait()
		if n := f.log.Count(api.MessageReconcile); n != 1 || time.Since(begin) != 0 {
			t.Fatalf("got %d reconciles after %s, want 1 at once", n, time.Since(begin))
		}
		time.Sleep(10*time.Second + tick/2)
		if n := f.log.Count(api.MessageReconcile); n != 101 {
			t.Errorf("got %d reconciles in 10s, want 101: a tick waited for the API server", n)
		}
		if last := f.log.Last(api.MessageReconcile); last[api.KeyTransition] != nil || last[api.KeySequence] != 101.0 {
			t.Errorf("got %v, want sequence 101 and no transition: it could not be read", last)
		}
		if f.writes() != 0 {
			t.Error("wrote without a transition number")
		}
		stop()
	})
}

func TestLead_StampsTheObjectAndStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		stop := f.lead(t)
		time.Sleep(time.Second + tick/2)
		got := f.object(t, "one").Annotations
		at, err := time.Parse(time.RFC3339Nano, got[api.AnnotationWorkedAt])
		if got[api.AnnotationHolder] != "a" || got[api.AnnotationTransition] != "3" || got[api.AnnotationSequence] != "11" || err != nil || time.Since(at) > tick {
			t.Errorf("got %v, %v, want holder a, transition 3, sequence 11, just now", got, err)
		}
		if !f.worker.Leading() || f.worker.Objects() != 1 || f.worker.Alive() != nil {
			t.Errorf("got leading %t, objects %d, alive %v while leading", f.worker.Leading(), f.worker.Objects(), f.worker.Alive())
		}
		stop()
		if f.worker.Leading() || f.worker.Objects() != 0 {
			t.Error("still leads or counts objects once told to stop")
		}
		writes, reconciles := f.writes(), f.log.Count(api.MessageReconcile)
		time.Sleep(10 * time.Second)
		if f.writes() != writes || f.log.Count(api.MessageReconcile) != reconciles {
			t.Error("went on working after its context had ended")
		}
		if f.worker.Alive() != nil {
			t.Error("the watchdog minds a process that does not lead")
		}
	})
}

func TestLead_AStandbyWatchesAndDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "b", 3)
		time.Sleep(time.Minute)
		if f.log.Count(api.MessageReconcile) != 0 || f.writes() != 0 {
			t.Error("a standby worked")
		}
		stop := f.lead(t)
		synctest.Wait()
		if first := f.log.Last(api.MessageReconcile); first[api.KeyObject] != key("one") {
			t.Errorf("got %v, want the object in the first line: the list was at hand", first)
		}
		stop()
	})
}

func TestWrite_RefusesAnObjectOfALaterTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.stampBy(t, "one", "b", "4")
		stop := f.lead(t)
		time.Sleep(time.Second)
		if f.writes() != 0 {
			t.Error("wrote over a later term")
		}
		line := f.log.Last(api.MessageWriteRefused)
		if line == nil || line[api.KeyReason] != "b wrote with transition 4, this leader has 3" || line[api.KeyHint] == nil {
			t.Errorf("got %v, want who wrote and what to type", line)
		}
		stop()
	})
}

func TestWrite_OverwritesAnEarlierTermAndNonsense(t *testing.T) {
	for _, old := range []string{"3", "2", "", "many"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, "a", 3)
			f.stampBy(t, "one", "b", old)
			stop := f.lead(t)
			time.Sleep(tick / 2)
			if got := f.object(t, "one").Annotations[api.AnnotationHolder]; got != "a" {
				t.Errorf("got holder %q over transition %q, want a", got, old)
			}
			stop()
		})
	}
}

func TestWrite_IsRefusedByTheServerIfSomebodyWroteInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.react("update", func(clienttesting.Action) (bool, runtime.Object, error) {
			f.stampBy(t, "one", "b", "4") // after the read of a, before its write
			return false, nil, nil
		})
		stop := f.lead(t)
		time.Sleep(tick / 2)
		if got := f.object(t, "one").Annotations[api.AnnotationHolder]; got != "b" {
			t.Errorf("got holder %q, want b: the write of a was stale", got)
		}
		if line := f.log.Last(api.MessageWriteFailed); line == nil || !strings.Contains(line[api.KeyError].(string), "the object has been modified") {
			t.Errorf("got %v, want a conflict", line)
		}
		stop()
	})
}

func TestLead_NeverTakesTheNumberOfASuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.setHolder(t, "b", 4)
		stop := f.lead(t)
		time.Sleep(5 * time.Second)
		if f.writes() != 0 || f.log.Count(api.MessageTransition) == 0 {
			t.Error("wrote with a number read from a lease that names another holder")
		}
		stop()
	})
}

func TestLead_ObjectsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.create(t, "two")
		synctest.Wait()
		stop := f.lead(t)
		time.Sleep(time.Second - tick/2)
		seen := map[string]int{}
		for _, line := range f.log.All(api.MessageReconcile) {
			seen[line[api.KeyObject].(string)]++
		}
		if seen[key("one")] != 5 || seen[key("two")] != 5 || f.worker.Objects() != 2 {
			t.Errorf("got %v of %d objects, want five each of two", seen, f.worker.Objects())
		}
		stop()
	})
}

func TestAlive_FailsWhenTheLoopStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{born: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		w.term.Store(&term{ctx: ctx})
		time.Sleep(stall)
		if err := w.Alive(); err != nil {
			t.Errorf("got %v after %s", err, stall)
		}
		time.Sleep(tick)
		if err := w.Alive(); err == nil {
			t.Errorf("got no error %s after the last tick", stall+tick)
		}
		cancel()
		if err := w.Alive(); err != nil {
			t.Errorf("got %v from one that leads no more", err)
		}
	})
}

func TestWatch_KeepsNoData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		for _, o := range f.worker.objects.GetStore().List() {
			if m := o.(*core.ConfigMap); len(m.Data) != 0 || m.Name == "" {
				t.Errorf("got %v in the cache, want the name alone", m)
			}
		}
	})
}

func TestLead_ANewLeaderStampsEveryObjectBeforeItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.worker.cfg.StampFirst = true
		f.worker.cfg.Token = func(context.Context) (int64, bool) { return 7, true }
		f.leases.Set(hang) // the number is known, so nobody asks the Lease
		f.create(t, "two")
		f.create(t, "three")
		synctest.Wait()
		conflicts := 2
		f.react("update", func(clienttesting.Action) (bool, runtime.Object, error) {
			if conflicts--; conflicts >= 0 {
				f.stampBy(t, "two", "old", "6") // the old leader still writes; it stands first in a queue of its own
			}
			return false, nil, nil
		})
		stop := f.lead(t)
		synctest.Wait()
		for _, name := range []string{"one", "two", "three"} {
			if got := f.object(t, name).Annotations[api.AnnotationTransition]; got != "7" {
				t.Errorf("%s carries transition %q before the second tick, want 7", name, got)
			}
		}
		if line := f.log.Last(api.MessageStamped); line["objects"] != 3.0 || line[api.KeyTransition] != 7.0 {
			t.Errorf("got %v, want three objects stamped", line)
		}
		stop()
	})
}

func TestLead_AnObjectThatCannotBeStampedHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.worker.cfg.StampFirst = true
		f.create(t, "two")
		synctest.Wait()
		f.react("get", func(action clienttesting.Action) (bool, runtime.Object, error) {
			return action.(clienttesting.GetAction).GetName() == "one", nil, errors.New("broken")
		})
		stop := f.lead(t)
		time.Sleep(time.Second)
		if got := f.object(t, "two").Annotations[api.AnnotationTransition]; got != "3" {
			t.Errorf("two carries transition %q, want 3", got)
		}
		stop()
	})
}

func TestWrite_UnfencedTheLastWriterWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, "a", 3)
		f.worker.cfg.Unfenced = true
		f.stampBy(t, "one", "b", "4")
		sent := ""
		f.react("update", func(action clienttesting.Action) (bool, runtime.Object, error) {
			o := action.(clienttesting.UpdateAction).GetObject().(*core.ConfigMap)
			sent = o.Annotations[api.AnnotationTransition] + " at version " + o.ResourceVersion
			return true, o, nil
		})
		stop := f.lead(t)
		time.Sleep(tick / 2)
		synctest.Wait()
		if sent != "3 at version " {
			t.Errorf("got a write of %q, want 3 without a precondition", sent)
		}
		stop()
	})
}
