package api

import "errors"

// Problem is one thing wrong with a configuration, with what to type instead.
type Problem struct {
	What string // lower case, no full stop: what is wrong, and why that matters
	Hint string // a flag, a value or a command to type; may be empty
}

// Error returns What.
func (p Problem) Error() string { return p.What }

// Problems returns every problem that err joins or wraps, in order; an error that is no Problem becomes one without a hint.
func Problems(err error) []Problem {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, e := range joined.Unwrap() {
			all = append(all, Problems(e)...)
		}
		return all
	}
	var p Problem
	if errors.As(err, &p) {
		return []Problem{{What: err.Error(), Hint: p.Hint}}
	}
	return []Problem{{What: err.Error()}}
}
