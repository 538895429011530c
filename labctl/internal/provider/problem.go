package provider

// Problem is an error that a person can do something about: Hint is a command to type.
type Problem struct {
	Err  error
	Hint string
}

// Error returns the problem without the hint.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }
