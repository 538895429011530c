package mutant

// panics is what a Go program that panics ends with.
const panics = 2

// Begin is how far replicas came that were not all ready, with a leader, when their time was over.
type Begin struct {
	Ready int
	Held  bool // whether one of them held the Lease
	Exit  int  // what a process last ended with, the largest of all; 0 if none ended
	Why   string
	Log   string // the last lines of one that is not ready, as a clause
}

// AtMost is how often the mutant is tried where n trials are asked for: a start is seen once.
func (m Mutant) AtMost(n int) int {
	if m.Mode == Start {
		return 1
	}
	return n
}

// NotStarted is the alarm that the replicas did not become ready, with a leader. Of a mutant it is one only if they came exactly as far
// as its fault lets them, and own is whether they did: whatever else keeps a program from starting shows no fault.
func (m Mutant) NotStarted(b Begin) (alarm Alarm, own bool) {
	alarm = Alarm{Name: NotReady, Reason: b.Why}
	own = m.Begins != nil && b.Ready == m.Begins.Ready && b.Held == m.Begins.Held && b.Exit == m.Begins.Exit
	if !own {
		alarm.Reason += b.Log
	}
	return alarm, own
}
