package heartbeat_test

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
	"academy.example/lab/operator/lease/heartbeat"
)

// These tests run the real elector in virtual time, beside a reader that looks every tenth of a second.

// contend starts a candidate on the tested Lease; it must be stopped within the bubble.
func contend(t *testing.T, store *electiontest.Store, identity string, release bool) (stop context.CancelFunc) {
	ctx, stop := context.WithCancel(t.Context())
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	go election.Plain{
		Config: election.Config{Namespace: namespace, Name: name, Identity: identity, Timing: api.Default(), ReleaseOnCancel: release},
		Client: store.Client(), Log: log, Exit: func(int) {},
		Work: func(ctx context.Context) { <-ctx.Done() },
	}.Run(election.Narrate(ctx, log))
	return stop
}

// restart is what a reader saw while one leader went and another came.
type restart struct {
	leaderless, silent time.Duration
	reasons            map[string]int
	oldest             time.Duration // renewal that a reader met
}

// watch reads until b holds the Lease.
func watch(store *electiontest.Store, reader *electiontest.Client, b string) (r restart) {
	r.reasons = map[string]int{}
	const look = 100 * time.Millisecond
	for {
		got := heartbeat.Check(context.Background(), reader, namespace, name)
		if got.Record.Holder == b {
			return r
		}
		r.leaderless += look
		if got.Age != nil && got.Record.Holder != "" {
			r.oldest = max(r.oldest, *got.Age)
		}
		if got.Verdict != heartbeat.Yes {
			r.silent += look
			r.reasons[got.Reason]++
		}
		time.Sleep(look)
	}
}

// handOver has a lead, then go; b stands by, or starts so long after a went if it does not.
func handOver(t *testing.T, release, standby bool, starts time.Duration) (r restart) {
	synctest.Test(t, func(t *testing.T) {
		store := new(electiontest.Store)
		stopA := contend(t, store, "a", release)
		synctest.Wait()
		stopB := func() {}
		if standby {
			stopB = contend(t, store, "b", release)
		}
		time.Sleep(time.Minute + rand.N(3*api.Default().RetryPeriod))
		stopA()
		if !standby {
			timer := time.AfterFunc(starts, func() { stopB = contend(t, store, "b", release) })
			defer timer.Stop()
		}
		synctest.Wait()
		r = watch(store, store.Client(), "b")
		synctest.Wait() // b was begun by a timer
		stopB()
		synctest.Wait()
	})
	return r
}

const trials = 300

// TestRestart_ReleasedEveryReaderSeesNoHolder: with ReleaseOnCancel on the gap is short, and all of it is without a heartbeat.
func TestRestart_ReleasedEveryReaderSeesNoHolder(t *testing.T) {
	var leaderless, silent time.Duration
	for range trials {
		r := handOver(t, true, true, 0)
		if r.silent != r.leaderless {
			t.Fatalf("%s without a heartbeat in a gap of %s, want all of it", r.silent, r.leaderless)
		}
		if r.leaderless > 4500*time.Millisecond {
			t.Errorf("a gap of %s, want at most 2.2·RetryPeriod", r.leaderless)
		}
		if r.reasons["the admission controller's Lease has no holder"]*100 != int(r.silent.Milliseconds()) {
			t.Errorf("got the reasons %v, want no holder and no other", r.reasons)
		}
		leaderless, silent = leaderless+r.leaderless, silent+r.silent
	}
	t.Logf("release on, one standby, n = %d: %.2f s leaderless, %.2f s without a heartbeat, mean", trials, leaderless.Seconds()/trials, silent.Seconds()/trials)
}

// TestRestart_LeftInPlaceTheWindowCoversTheGap: with it off a standby takes over while the record is at most
// LeaseDuration + 4.4·RetryPeriod = 23.8 s old, which is within the window of 30 s.
func TestRestart_LeftInPlaceTheWindowCoversTheGap(t *testing.T) {
	var leaderless, oldest time.Duration
	for range trials {
		r := handOver(t, false, true, 0)
		if r.silent != 0 {
			t.Errorf("%s without a heartbeat (%v), want none", r.silent, r.reasons)
		}
		if r.leaderless < 13*time.Second || r.leaderless > 23900*time.Millisecond {
			t.Errorf("a gap of %s, want 13 to 23.8 s", r.leaderless)
		}
		leaderless, oldest = leaderless+r.leaderless, max(oldest, r.oldest)
	}
	if oldest > 23900*time.Millisecond {
		t.Errorf("a reader met a renewal of %s, want at most LeaseDuration + 4.4·RetryPeriod = 23.8 s", oldest)
	}
	t.Logf("release off, one standby, n = %d: %.2f s leaderless, 0 s without a heartbeat; oldest renewal met %.2f s", trials, leaderless.Seconds()/trials, oldest.Seconds())
}

// TestRestart_WithoutAStandbyTheWindowCoversAStartWithin8600ms: the record's age at the take-over is at most
// RetryPeriod + start + LeaseDuration + 2.2·RetryPeriod. A start later than 30 − 2 − 15 − 4.4 = 8.6 s may be too late, and one
// later than 30 − 15 = 15 s always is.
func TestRestart_WithoutAStandbyTheWindowCoversAStartWithin8600ms(t *testing.T) {
	timing := api.Default()
	late := func(starts time.Duration) (n int, oldest time.Duration) {
		for range trials {
			r := handOver(t, false, false, starts)
			if r.silent > 0 {
				n++
			}
			oldest = max(oldest, r.oldest)
		}
		return n, oldest
	}
	window := heartbeat.Windows * timing.LeaseDuration
	safe := window - timing.RetryPeriod - timing.LeaseDuration - 22*timing.RetryPeriod/10
	if safe != 8600*time.Millisecond {
		t.Fatalf("the start that is always early enough is %s, want 8.6 s", safe)
	}
	for _, c := range []struct {
		starts      time.Duration
		least, most int
	}{
		{safe, 0, 0},
		{safe + 3*time.Second, 1, trials - 1},
		{window - timing.LeaseDuration + 100*time.Millisecond, trials, trials},
	} {
		n, oldest := late(c.starts)
		if n < c.least || n > c.most {
			t.Errorf("started %s after the end: stale in %d of %d restarts, want %d to %d", c.starts, n, trials, c.least, c.most)
		}
		t.Logf("release off, no standby, started after %s: stale in %d of %d, oldest renewal met %.2f s", c.starts, n, trials, oldest.Seconds())
	}
}
