package main

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

// Pairs of real processes: the leader's way to the API server becomes a black hole, the standby takes over, and the logs tell
// who worked when. TEST_TIMING=default takes 15/10/2, as the course has it, and half a minute.
func TestReplica_ABlackHoleMakesTwoLeadersUnderPlainAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts forty processes")
	}
	const pairs = 10
	args, limit := fast, 20*time.Second
	if os.Getenv("TEST_TIMING") == "default" {
		args, limit = nil, time.Minute
	}
	for _, election := range api.ContendedElections() {
		var running sync.WaitGroup
		overlaps := make([]time.Duration, pairs)
		for i := range pairs {
			running.Go(func() {
				overlaps[i] = cutLeaderOff(t, limit, append([]string{"--election=" + election}, args...))
			})
		}
		running.Wait()
		both := 0
		for _, o := range overlaps {
			if o > 0 {
				both++
			}
		}
		t.Logf("%s: two leaders in %d of %d; last work of the old one − first of the new one: %v", election, both, pairs, overlaps)
		if election == api.ElectionGuarded && both > 0 || election == api.ElectionPlain && both == 0 {
			t.Errorf("%s: two leaders in %d of %d", election, both, pairs)
		}
	}
}

// cutLeaderOff returns the old leader's last reconcile − the new one's first; it is negative if nobody led in between.
func cutLeaderOff(t *testing.T, limit time.Duration, args []string) time.Duration {
	store := new(electiontest.Store)
	mine, others := newAPIServer(t, store), newAPIServer(t, store)
	leader := startNamed(t, "a", mine, args...)
	leader.until(t, api.MessageReconcile, limit)
	standby := startNamed(t, "b", others, args...)
	standby.until(t, api.MessageAttempt, limit)
	time.Sleep(2 * time.Second)
	mine.hole.Store(true)
	standby.until(t, api.MessageReconcile, limit)
	leader.end() // it exits when it has noticed
	_ = standby.Process.Signal(syscall.SIGKILL)
	standby.end()
	return at(t, leader.log.Last(api.MessageReconcile)).Sub(at(t, standby.log.All(api.MessageReconcile)[0]))
}

func at(t *testing.T, line map[string]any) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, line["time"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return instant
}
