package timeline

import (
	"math"
	"strings"
	"testing"

	"academy.example/lab/operator/api"
)

// near compares figures that were rounded to microseconds several times.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

func TestTerms_OfAnExpiredLeaseAddUp(t *testing.T) {
	// Renewed at 8.002, gone at 9.01, first seen at 10.002, free for the standby at 25.002, polled at 26.5.
	s := steady().request(8, "old", "update").request(7.5, "other", "get").fault(9, "kill").end(9.01).
		request(10, "other", "get").request(13, "other", "get").request(24.5, "other", "get").
		request(26.5, "other", "get").request(26.503, "other", "update").lease(26.51, "other", 4).log(26.6, "other", api.MessageReconcile)
	got := Measure(s.events, 1).Terms
	if got == nil {
		t.Fatal("got no terms")
	}
	for name, pair := range map[string][2]float64{
		"age": {*got.AgeSeconds, 1.008}, "observation": {*got.ObservationSeconds, 2}, "duration": {*got.LeaseDurationSeconds, 15},
		"poll phase": {got.PollPhaseSeconds, 1.498}, "residual": {got.ResidualSeconds, 0.01},
	} {
		if !near(pair[0], pair[1]) {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
}

// The residual must be able to show that the model is wrong: here the standby does not take the Lease at its first poll
// after the wait, but at the second.
func TestTerms_AMissedPollShowsInTheResidual(t *testing.T) {
	s := steady().request(8, "old", "update").fault(9, "kill").end(9.01).request(10, "other", "get").
		request(26, "other", "get").request(28, "other", "get").lease(28.01, "other", 4)
	if got := Measure(s.events, 1).Terms; got == nil || !near(got.ResidualSeconds, 2.01) {
		t.Errorf("got %+v, want a residual of 2.01 s", got)
	}
}

func TestTerms_OfARelease(t *testing.T) {
	s := steady().request(8, "old", "update").fault(9, "graceful").request(9.09, "old", "update").lease(9.1, "", 3).end(9.12).
		request(10.5, "other", "get").lease(10.51, "other", 4)
	got := Measure(s.events, 1).Terms
	if got == nil || got.AgeSeconds != nil || !near(got.PollPhaseSeconds, 1.408) || !near(got.ResidualSeconds, 0.002) {
		t.Errorf("got %+v, want a poll phase of 1.408 s and 2 ms left", got)
	}
}

func TestTerms_AreNotToldWhereRequestsDoNotTell(t *testing.T) {
	for name, s := range map[string]*script{
		"no audit log": steady().fault(9, "kill").end(9.01).lease(24, "other", 4),
		"a renewal that was refused": steady().add(8, Event{Kind: LeaseRequest, Request: &Request{Verb: "update", Code: 409, Pod: "old", UID: "old-uid",
			Received: wall(8), Answered: wall(8)}}).fault(9, "kill").end(9.01).request(10, "other", "get").request(26, "other", "get").lease(26, "other", 4),
		"same identity": steady().request(8, "old", "update").fault(9, "crash").end(9.01).process(10.1, ProcessUp, "old").lease(10.3, "old", 3),
	} {
		if got := Measure(s.events, 1); got.Terms != nil || got.Void != "" {
			t.Errorf("%s: got %+v (void %q), want a good trial without terms", name, got.Terms, got.Void)
		}
	}
}

// A poll that the server took in before it answered the renewal may have seen the renewal or not: what followed tells.
func TestTerms_OfRequestsThatCrossedGoWithWhatFollowed(t *testing.T) {
	begin := func() *script {
		return steady().request(8, "old", "update").request(8.001, "other", "get").fault(9, "kill").end(9.01).request(11, "other", "get")
	}
	saw := Measure(begin().request(23.5, "other", "get").lease(23.51, "other", 4).events, 1).Terms
	if saw == nil || !near(*saw.ObservationSeconds, 0.001) || !near(saw.ResidualSeconds, 0.01) {
		t.Errorf("the poll that crossed saw it: got %+v", saw)
	}
	missed := Measure(begin().request(23.5, "other", "get").request(26.5, "other", "get").lease(26.51, "other", 4).events, 1).Terms
	if missed == nil || !near(*missed.ObservationSeconds, 3) || !near(missed.ResidualSeconds, 0.01) {
		t.Errorf("the poll that crossed did not see it: got %+v", missed)
	}
}

// A poll that the server took in before the release, and answered after it, may have seen the release: then the takeover
// follows at once, and not after the next poll.
func TestTerms_APollUnderWayMayHaveSeenTheRelease(t *testing.T) {
	s := steady().request(8, "old", "update").fault(9, "rollout").
		add(9.04, Event{Kind: LeaseRequest, Request: &Request{Verb: "get", Code: 200, Pod: "other", Received: wall(9.01), Answered: wall(9.04)}}).
		add(9.03, Event{Kind: LeaseRequest, Request: &Request{Verb: "update", Code: 200, Pod: "old", UID: "old-uid", Received: wall(9.02), Answered: wall(9.03)}}).
		lease(9.03, "", 3).end(9.12).lease(9.06, "other", 4).request(11, "other", "get")
	if got := Measure(s.events, 1).Terms; got == nil || !near(got.PollPhaseSeconds, 0) || !near(got.ResidualSeconds, 0.03) {
		t.Errorf("got %+v, want the poll under way and 30 ms left", got)
	}
}

func TestMeasure_ARefusedReleaseIsInTheTrial(t *testing.T) {
	s := steady().fault(9, "force-delete").add(9.02, Event{Kind: LeaseRequest, Request: &Request{Verb: "update", Code: 401, Received: wall(9.01), Answered: wall(9.015)}}).
		end(9.03).lease(24, "other", 4)
	got := Measure(s.events, 1)
	if got.Class != Expired || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], "update of the Lease refused with 401") {
		t.Errorf("got %s with errors %q", got.Class, got.Errors)
	}
}

// client-go reads its clock before it sends the request, so a poll that reaches the server just after the wait may still
// come too early for the candidate; then the next one decides.
func TestTerms_APollRightAfterTheWaitMayHaveBeenTooEarly(t *testing.T) {
	s := steady().request(8, "old", "update").fault(9, "kill").end(9.01).request(10, "other", "get").
		request(25.01, "other", "get").request(27, "other", "get").lease(27.01, "other", 4)
	if got := Measure(s.events, 1).Terms; got == nil || !near(got.ResidualSeconds, 0.01) || !near(got.PollPhaseSeconds, 1.998) {
		t.Errorf("got %+v, want the poll at 27 s", got)
	}
}

func TestMeasure_AStandbysPausesAreThoseThatTheServerSaw(t *testing.T) {
	// The log line of the second poll arrives late, and the server received it in time; the third pause is too long.
	begin := func() *script {
		return steady().polling(2).request(8.5, "old", "update").request(8.6, "other", "get").fault(9, "kill").end(9.01).
			request(12.5, "other", "get").log(14.9, "other", api.MessageAttempt).request(16, "other", "get").request(20, "other", "get")
	}
	if got := Measure(begin().request(24, "other", "get").lease(24.01, "other", 4).events, 1); got.Void != "" {
		t.Errorf("pauses of 4 s: got void: %s", got.Void)
	}
	if got := Measure(begin().request(24.8, "other", "get").lease(24.81, "other", 4).events, 1); !strings.Contains(got.Void, "did not poll for 4.8 s") {
		t.Errorf("a pause of 4.8 s: got void %q", got.Void)
	}
}

func TestMeasure_AHoleIsTheReasonBeforeAStandbyThatWaitedForIt(t *testing.T) {
	s := steady().polling(2).fault(9, "kill").end(9.01).log(10, "other", api.MessageAttempt).
		add(18, Event{Kind: WatchHole, Note: "the API server did not answer", HoleSeconds: 5}).log(18.1, "other", api.MessageAttempt).lease(24, "other", 4)
	if got := Measure(s.events, 1); !strings.Contains(got.Void, "the API server did not answer") {
		t.Errorf("got void %q", got.Void)
	}
}

func TestMeasure_AWriteByHandVoids(t *testing.T) {
	byHand := func(at, renewed float64, holder string) Event {
		return Event{Kind: LeaseSeen, Lease: &Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: 3, RenewTime: wall(renewed)}}
	}
	for name, c := range map[string]struct {
		event  Event
		reason string
	}{
		"a renewal in a dead one's name, soon": {byHand(9.5, 9.49, "old"), "after its process was gone"},
		"an emptied holder":                    {byHand(9.5, 7.996, ""), "by no candidate"},
		"another holder":                       {byHand(9.5, 7.996, "other"), "by no candidate"},
	} {
		s := steady().fault(9, "kill").end(9.01).add(9.5, c.event).lease(24.5, "other", 4)
		if got := Measure(s.events, 1); !strings.Contains(got.Void, c.reason) {
			t.Errorf("%s: got void %q, want %q", name, got.Void, c.reason)
		}
	}
	s := steady().fault(9, "kill").end(9.01).add(9.02, byHand(9.02, 8.99, "old")).lease(24.5, "other", 4)
	if got := Measure(s.events, 1); got.Void != "" {
		t.Errorf("a renewal that was under way: got void %q", got.Void)
	}
}
