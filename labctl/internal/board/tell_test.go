package board

import (
	"slices"
	"strings"
	"testing"

	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
)

// tell returns what a Teller says of who leads, from the events that a script feeds.
func tell(feed func(s script)) []string {
	teller := NewTeller(config)
	var events []timeline.Event
	feed(script{New(config), func(e timeline.Event) { events = append(events, e) }})
	var lead []string
	for _, e := range events {
		for _, line := range teller.Lines(e) {
			if _, what, found := strings.Cut(line, "  lead     "); found {
				lead = append(lead, what)
			}
		}
	}
	return lead
}

// What the lines tell of who leads is what the view shows, for each way in which a leader goes.
func TestTeller_TellsThatNobodyLeadsAndForHowLong(t *testing.T) {
	begin := func(s script) script {
		s.pod(0, timeline.PodSeen, "old", false).pod(0, timeline.PodSeen, "other", false)
		for t := 0.0; t < 20; t += 2 {
			s.lease(t, "old", 3).works(t+0.05, t+2, "old", 0)
		}
		return s
	}
	const gone = "NOBODY LEADS: the Lease is in the name of a process that is gone"
	for name, c := range map[string]struct {
		feed func(s script)
		want []string
	}{
		"killed": {func(s script) {
			begin(s).process(20, timeline.ProcessGone, "old", 0, 137).polls(20.5, 36, "other").lease(36, "other", 4).works(36.1, 41, "other", 0)
		}, []string{gone, "nobody led for 16.00 s, expired, other"}},
		"crashed in its pod": {func(s script) {
			begin(s).process(20, timeline.ProcessGone, "old", 0, 137).process(21, timeline.ProcessUp, "old", 1, 0).lease(21.1, "old", 3).works(21.2, 26, "old", 1)
		}, []string{gone, "nobody led for 1.10 s, same-identity, old"}},
		"released": {func(s script) {
			begin(s).pod(20, timeline.PodSeen, "old", true).lease(20.05, "", 3).process(20.1, timeline.ProcessGone, "old", 0, 0).lease(21.3, "other", 4).works(21.35, 26, "other", 0)
		}, []string{"NOBODY LEADS: the Lease was released", "nobody led for 1.25 s, released, other"}},
		"overwritten": {func(s script) {
			begin(s).on(20.5, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "mallory", LeaseDurationSeconds: 15, RenewTime: wall(17.996)}}).works(20, 28, "old", 0).
				process(28, timeline.ProcessGone, "old", 0, 1).polls(29, 35, "other").lease(36, "other", 4).works(36.1, 41, "other", 0)
		}, []string{gone, `for how long nobody led was not seen: the holder was changed to "mallory" without a new renewTime: by no candidate`, "nobody led for 8.00 s, expired, other"}},
		"nothing": {func(s script) { begin(s) }, nil},
	} {
		if got := tell(c.feed); !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestTeller_SaysOnceThatTheLeaseDoesNotExist(t *testing.T) {
	teller := NewTeller(Config{Header: report.Header{Lease: "ns/none"}, Followed: true, SharedClock: true})
	if got := teller.Listed(1, wall(1)); len(got) != 1 || !strings.HasSuffix(got[0], "lease    ns/none does not exist; waiting for it") {
		t.Errorf("got %q", got)
	}
	got := teller.Lines(timeline.Event{Seconds: 5, Wall: wall(5), Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(5)}})
	if len(got) != 2 || !strings.HasSuffix(got[0], "lease    held by a") {
		t.Errorf("got %q", got)
	}
	there := NewTeller(config)
	there.Lines(timeline.Event{Seconds: 0.5, Wall: wall(0.5), Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: "a", LeaseDurationSeconds: 15, RenewTime: wall(0)}})
	if got := there.Listed(1, wall(1)); got != nil {
		t.Errorf("it exists: got %q", got)
	}
}
