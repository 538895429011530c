package gate

import (
	"fmt"
	"strings"
	"time"
)

// Reasons of a wait, as the condition names them.
const (
	WaitingForMachineOperations = "WaitingForMachineOperations"
	WaitingForClusterOperation  = "WaitingForClusterOperation"
	WaitingForRunLease          = "WaitingForRunLease"     // another Job of the same object
	WaitingForClusterLease      = "WaitingForClusterLease" // another Job of the same cluster
)

// Wait is why an operation can't start yet. It is no failure: it counts toward no back-off.
type Wait struct {
	Reason string
	Op     Operation
	Jobs   []string // that it waits for; empty if another writer came first and it is not known which
}

func waitFor(reason string, op Operation, jobs ...string) *Wait {
	w := &Wait{Reason: reason, Op: op}
	for _, job := range jobs {
		if job != "" {
			w.Jobs = append(w.Jobs, job)
		}
	}
	return w
}

// most is how many Jobs a message names.
const most = 5

// Message tells for what the operation has waited, and for how long. A wait longer than the deadline of a Job means that the holder
// can't finish: then it says where to look.
func (w Wait) Message(waited time.Duration, namespace string) string {
	text := "another writer came first"
	if len(w.Jobs) > 0 {
		text = "waiting for Job " + strings.Join(w.Jobs[:min(most, len(w.Jobs))], ", ")
	}
	if more := len(w.Jobs) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if waited > w.Op.Deadline && len(w.Jobs) > 0 {
		text += fmt.Sprintf("; for longer than the deadline of %s, so it can't finish: kubectl -n %s describe job %s", w.Op.Deadline, namespace, w.Jobs[0])
	}
	return text
}
