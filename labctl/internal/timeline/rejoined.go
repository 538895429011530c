package timeline

// heard reports whether the old leader's log tells all of its work after that moment: it was read to its end, or to a line that
// was written later and says that the process contends again, which only one that does not lead does.
func (m *measurer) heard(since float64) bool { return m.oldLogEnds || m.oldAttempt > since }
