package report

import (
	"cmp"
	"fmt"
	"slices"

	"academy.example/lab/labctl/internal/timeline"
)

// swimlane draws who held the Lease and who worked around a trial; nil without its events.
func swimlane(id string, t timeline.Trial, events []timeline.Event, h Header) *figure {
	r, ok := record(events)
	if !ok {
		return nil
	}
	window := r.window(t, h.Timing.RetryPeriod.Seconds())
	x, ok := newAxis(window.from, window.to, 2, 98)
	if !ok {
		return nil
	}
	s := &swimmer{figure: figure{ID: id, Title: "Who held the Lease, and who worked", Note: "In seconds after the command (T0).",
		Table: table{Head: []string{"who", "holds the Lease", "works"}}}, x: x, window: window, y: 28}
	s.nobody(t)
	s.overlap(t, r.overlaps(t))
	s.holes(r.holes)
	lanes := 0
	for _, c := range r.own {
		c.holds, c.works = within(c.holds, window), within(c.works, window)
		if len(c.holds)+len(c.works) == 0 {
			continue
		}
		if lanes++; lanes > mostCandidates {
			s.Note += " More candidates than are drawn held it or worked."
			break
		}
		s.candidate(lanes, c, t)
	}
	s.key("holds", "holds the Lease")
	s.key("works", "works")
	lanesOver := s.Shapes
	s.Shapes = nil
	s.axis(x, 20, s.y)
	s.instants(t)
	s.Shapes = append(s.Shapes, lanesOver...)
	s.Height = s.y + 24
	s.Desc = "In seconds after the command (T0). " + s.Table.words()
	return &s.figure
}

// swimmer draws lane by lane.
type swimmer struct {
	figure
	x      axis
	window while
	y      int
}

func (s *swimmer) key(class, text string) {
	if !slices.Contains(s.Keys, key{class, text}) {
		s.Keys = append(s.Keys, key{class, text})
	}
}

// lane writes a name and draws stretches under it.
func (s *swimmer) lane(name string) {
	s.text("name", 2, "start", s.y+13, name)
	s.y += 19
}

func (s *swimmer) bars(class string, stretches []while, height int) {
	for _, w := range stretches {
		s.rect(class, s.x, w.from, w.to, s.y, height)
	}
}

// nobody is the lock gap: free after a release, or in the name of one that does not renew it.
func (s *swimmer) nobody(t timeline.Trial) {
	t5, taken := t.Instant(timeline.T5)
	if t.LockGapSeconds == nil || !taken {
		s.lane("nobody leads: not measured")
		s.y += 4
		s.Table.add("nobody", "not measured", "")
		return
	}
	class, how := "expired", groundOf(t).lane
	if t.Class == timeline.Released || t.Class == timeline.Deleted {
		class = "free"
	}
	gap := []while{{t5 - *t.LockGapSeconds, t5}}
	s.lane(how + "  " + two(*t.LockGapSeconds))
	s.bars(class, gap, 16)
	s.y += 26
	s.key(class, how)
	s.Table.add("nobody", moments(gap)+" ("+string(t.Class)+")", "")
}

// overlap is the time in which two worked.
func (s *swimmer) overlap(t timeline.Trial, stretches []while) {
	if t.OverlapSeconds == nil || *t.OverlapSeconds <= 0 {
		return
	}
	s.lane("two work at a time  " + overlapWords(t))
	stretches = within(stretches, s.window)
	s.bars("overlap", stretches, 16)
	s.y += 26
	s.key("overlap", "two work at a time")
	s.Table.add("two at a time", "", overlapWords(t)+": "+moments(stretches))
}

// holes are whiles in which events may be missing.
func (s *swimmer) holes(stretches []while) {
	if stretches = within(stretches, s.window); len(stretches) == 0 {
		return
	}
	s.lane("events may be missing or late")
	s.bars("hole", stretches, 10)
	s.y += 20
	s.key("hole", "events may be missing or late")
	s.Table.add("not seen as a whole", moments(stretches), moments(stretches))
}

// candidate is a lane: above who holds, below who works. What the Lease says of one that is gone, or unheard, is told apart.
func (s *swimmer) candidate(n int, c candidate, t timeline.Trial) {
	letter := string(rune('A' + n - 1))
	s.lane(fmt.Sprintf("%s  %s, %s", letter, clip(Short(c.identity)), role(c.identity, t)))
	holds := c.holds
	var inName []while
	if gone, seen := t.Instant(timeline.T3); seen && c.identity == t.HolderBefore && t.Class != timeline.Released {
		holds, inName = cutAt(c.holds, gone)
		if t5, taken := t.Instant(timeline.T5); taken && t.HolderAfter != nil && *t.HolderAfter == c.identity {
			var again []while
			inName, again = cutAt(inName, t5)
			holds = append(holds, again...)
		}
	}
	s.bars("holds", holds, 11)
	word := groundOf(t).named
	if len(inName) > 0 {
		s.bars("inname", inName, 11)
		s.key("inname", word)
	}
	s.y += 13
	s.bars("works", c.works, 11)
	s.y += 22
	told := moments(holds)
	if len(inName) > 0 {
		told += "; " + moments(inName) + " " + word
	}
	s.Table.add(fmt.Sprintf("%s: %s, %s", letter, c.identity, role(c.identity, t)), told, moments(c.works))
}

// instants marks T0 … T7 from top to bottom. Names of those that lie close together are joined.
func (s *swimmer) instants(t timeline.Trial) {
	type mark struct {
		name string
		at   float64
	}
	marks := []mark{{"T0", 0}}
	for _, name := range timeline.Instants() {
		if at, seen := t.Instant(name); seen && at >= s.window.from && at <= s.window.to {
			marks = append(marks, mark{name, at})
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	const apart = 21.0 // percent of the width: two names side by side on a narrow screen
	for i := 0; i < len(marks); {
		first, last, from := marks[i].name, marks[i].name, s.x.at(marks[i].at)
		j := i
		for ; j < len(marks) && s.x.at(marks[j].at)-from < apart; j++ {
			s.upright("instant", s.x, marks[j].at, 16, s.y)
			first, last = min(first, marks[j].name), max(last, marks[j].name)
		}
		name := first
		if last != first {
			name += "–" + last
		}
		anchor := "start"
		if from > 88 {
			anchor = "end"
			from = s.x.at(marks[j-1].at)
		}
		s.text("moment", from, anchor, 12, name)
		i = j
	}
}
