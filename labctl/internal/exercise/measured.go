package exercise

import (
	"cmp"
	"fmt"
	"time"

	"academy.example/lab/labctl/internal/check"
	"academy.example/lab/labctl/internal/exercise/recorded"
	"academy.example/lab/labctl/internal/gap"
	"academy.example/lab/labctl/internal/timeline"
)

// measured judges a question by the trials that were made since its predictions.
func (j judge) measured(q Question) (check.Verdict, string, string) {
	if missing := j.unpredicted(q); missing != "" {
		return open, fmt.Sprintf("predict first: %s; a run made before the prediction does not count", missing), ""
	}
	good, bad := j.counted(q)
	spoiled := j.notOf(q, bad)
	if len(good) >= q.Run.Trials {
		if why, cite := j.shorter(q, good); why != "" {
			if cite == "" { // it is only not to be told yet
				return open, why, ""
			}
			return check.Fail, why, cite
		}
		return check.Pass, fmt.Sprintf("%s in %d of %d trials asked for", q.Run.String(), min(len(good), q.Run.Trials), q.Run.Trials), good[0].Event()
	}
	for _, s := range spoiled {
		if s.unknown {
			return check.Unknown, "unknown (environment): " + s.why + "; do it again", s.trial.Cite()
		}
	}
	since := j.entry.Since(j.exercise, q.ID).Local().Format(time.TimeOnly)
	if len(spoiled) > 0 {
		last := spoiled[len(spoiled)-1]
		return check.Fail, last.why, last.trial.Event()
	}
	if len(good) > 0 {
		return open, fmt.Sprintf("%d of %d trials of mode %s that count", len(good), q.Run.Trials, q.Run.Mode), good[0].Cite()
	}
	wanted := "mode " + q.Run.Mode
	if len(bad) > 0 {
		wanted = q.Run.String()
	}
	return open, fmt.Sprintf("no trial of %s since %s%s", wanted, since, j.unlike(q)), ""
}

// unlike tells of the last trial of the mode that was made with other settings, and counts for no other question; else "".
func (j judge) unlike(q Question) string {
	var last []spoiled
	for _, t := range j.ofMode(q) {
		if why := q.Run.unlike(t); why != "" {
			last = append(last, spoiled{trial: t, why: why})
		}
	}
	if last = j.notOf(q, last); len(last) == 0 {
		return ""
	}
	s := last[len(last)-1]
	return fmt.Sprintf("; that of %s was made with %s", s.trial.WallT0.Local().Format(time.TimeOnly), s.why)
}

// notOf leaves out the trials that count for another question: they are not a wrong answer to this one.
func (j judge) notOf(q Question, bad []spoiled) (left []spoiled) {
	others := map[string]bool{}
	for _, other := range j.exercise.Questions {
		if other.Kind != Measured || other.ID == q.ID || len(bad) == 0 {
			continue
		}
		good, _ := j.counted(other)
		for _, t := range good {
			others[t.Cite()] = true
		}
	}
	for _, s := range bad {
		if !others[s.trial.Cite()] {
			left = append(left, s)
		}
	}
	return left
}

// String tells what is asked for, in a few words.
func (w Want) String() string {
	out := "mode " + w.Mode
	if w.Class != "" {
		out += ", class " + string(w.Class)
	}
	return out + w.Overlap.String()
}

// unpredicted is the id of a prediction about the question that is not made yet.
func (j judge) unpredicted(q Question) string {
	for _, p := range j.exercise.Questions {
		if p.Kind == Prediction && p.Of == q.ID && j.entry.Predicted[p.ID].Value == "" {
			return p.ID
		}
	}
	return ""
}

// spoiled is a trial of the right mode that does not count, and why. It is unknown if that was not the student's doing.
type spoiled struct {
	trial   recorded.Trial
	why     string
	unknown bool
}

// counted returns the trials that are as a measured question asks, and the other ones of its mode. What was run after the
// exercise was passed is of another one.
func (j judge) counted(q Question) (good []recorded.Trial, bad []spoiled) {
	for _, t := range j.ofMode(q) {
		if q.Run.unlike(t) != "" {
			continue
		}
		if why, unknown := q.Run.differs(t); why != "" {
			bad = append(bad, spoiled{t, why, unknown})
			continue
		}
		good = append(good, t)
	}
	return good, bad
}

// ofMode returns the trials of a measured question's mode that were made when they could count, with whatever settings.
func (j judge) ofMode(q Question) (all []recorded.Trial) {
	if j.unpredicted(q) != "" {
		return nil
	}
	from := j.entry.Since(j.exercise, q.ID)
	for _, t := range recorded.All(j.evidence.Runs) {
		if t.Mode != q.Run.Mode || t.WallT0.Before(from) || j.entry.Passed != nil && t.WallT0.After(*j.entry.Passed) || t.Run.Foreign {
			continue
		}
		all = append(all, t)
	}
	return all
}

// unlike tells a setting of the run that is not the one asked for; empty if all are. Such a run is of another question.
func (w Want) unlike(t recorded.Trial) string {
	release := t.Run.ReleaseOnCancel == nil || *t.Run.ReleaseOnCancel
	for _, s := range []struct{ name, got, want string }{
		{"timing", t.Run.Timing.String(), w.Timing}, {"identity", string(t.Run.Identity), w.Identity}, {"election", string(t.Run.Election), w.Election},
	} {
		if s.want != "" && s.got != s.want {
			return fmt.Sprintf("%s %s, asked for is %s", s.name, cmp.Or(s.got, "unknown"), s.want)
		}
	}
	if w.ReleaseOnCancel != nil && release != *w.ReleaseOnCancel {
		return fmt.Sprintf("ReleaseOnCancel %t, asked for is %t", release, *w.ReleaseOnCancel)
	}
	return ""
}

// differs says in what the trial is not as asked; empty if it is.
func (w Want) differs(t recorded.Trial) (why string, unknown bool) {
	rise, rose := t.Rise()
	switch {
	case len(t.Run.Edited) > 0:
		return "the record of run " + t.Run.Name + " was changed after it was made: " + t.Run.Edited[0], false
	case t.Void != "":
		return t.Void, true
	case t.Class == timeline.Unknown:
		return "no new holder was seen", true
	case w.Class != "" && t.Class != w.Class:
		return fmt.Sprintf("the class is %s, asked for is %s", t.Class, w.Class), false
	case w.Transitions != nil && !rose:
		return "leaseTransitions was not seen", true
	case w.Transitions != nil && rise != *w.Transitions:
		return fmt.Sprintf("leaseTransitions rose by %d, asked for is %d", rise, *w.Transitions), false
	case w.Older && (t.Upgrade == nil || !t.Upgrade.Contested):
		return "no older replica was left when the Lease came to its next holder", true
	case w.Older && t.Upgrade.NewerLedSeconds > 0:
		return fmt.Sprintf("version %s held the Lease for %.2f s while %s was still there", t.Upgrade.To, t.Upgrade.NewerLedSeconds, t.Upgrade.From), false
	case w.InBand && t.LockGapSeconds == nil:
		return "the lock gap was not seen", true
	case w.InBand && !band(t).Holds(*t.LockGapSeconds):
		b := band(t)
		return fmt.Sprintf("the lock gap of %.2f s is outside of %.1f … %.1f s", *t.LockGapSeconds, b.MinSeconds, b.MaxSeconds), false
	}
	return w.Overlap.differs(t)
}

// band is the range that the model gives for the trial as it happened.
func band(t recorded.Trial) gap.Prediction {
	return gap.Range(t.Run.Of(t.Trial), t.Class)
}

// shorter says that a trial's lock gap is not longer than each one of the other question; empty if all are.
func (j judge) shorter(q Question, good []recorded.Trial) (why, cite string) {
	if q.Run.LongerThan == "" {
		return "", ""
	}
	other, _ := j.exercise.Question(q.Run.LongerThan)
	others, _ := j.counted(other)
	if len(others) == 0 {
		return "there is nothing to compare with yet: " + other.ID, ""
	}
	for _, a := range good {
		for _, b := range others {
			if a.LockGapSeconds != nil && b.LockGapSeconds != nil && *a.LockGapSeconds <= *b.LockGapSeconds {
				return fmt.Sprintf("the lock gap of %.2f s is not longer than that of %s, %.2f s", *a.LockGapSeconds, other.ID, *b.LockGapSeconds), a.Cite() + "; " + b.Cite()
			}
		}
	}
	return "", ""
}
