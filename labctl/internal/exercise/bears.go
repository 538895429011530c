package exercise

import (
	"slices"

	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/timeline"
)

// Bears reports whether a run may decide something in the exercise: a trial of it was made while the exercise was open, by
// what one of its questions asks for. A verdict needs those runs and no other.
func (e Exercise) Bears(entry *Entry, run recorded.Run) bool {
	return slices.ContainsFunc(run.Trials, func(t timeline.Trial) bool {
		if t.WallT0.Before(entry.Started) || entry.Passed != nil && t.WallT0.After(*entry.Passed) {
			return false
		}
		return slices.ContainsFunc(e.Questions, func(q Question) bool { return q.Run != nil && q.Run.Mode == t.Mode })
	})
}
