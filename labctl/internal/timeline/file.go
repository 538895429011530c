package timeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Writer appends events to a stream, one JSON object a line. It is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// NewWriter returns a Writer on out. Each event is one Write, so a killed program loses no event that was appended.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Append writes one event. The first error sticks and is returned by Err as well.
func (w *Writer) Append(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if err != nil {
		w.err = fmt.Errorf("write timeline: %w", err)
	}
	return w.err
}

// Err returns the first error that Append met.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Read returns the events of a timeline. A last line that was cut short, as a killed program may leave it, is dropped;
// any other line that is no event is an error that names the line.
func Read(in io.Reader) ([]Event, error) {
	var events []Event
	if err := Each(in, func(e Event) { events = append(events, e) }); err != nil {
		return nil, err
	}
	return events, nil
}

// longestLine bounds an event, in bytes; a pod's log line is cut long before.
const longestLine = 4 << 20

// Each hands on the events of a timeline one by one, as Read would return them; a long one need not fit into memory. A time
// out of range, and one that runs backwards, is an error: no figure could be told from it.
func Each(in io.Reader, on func(Event)) error {
	var broken error
	latest := 0.0
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 64<<10), longestLine)
	read := 0
	for n := 1; scanner.Scan(); n++ {
		read = n
		if broken != nil {
			return broken
		}
		var e Event
		err := json.Unmarshal(scanner.Bytes(), &e)
		if err == nil {
			err = e.sound(latest)
		}
		if err != nil {
			broken = fmt.Errorf("timeline line %d: %w", n, err)
			continue
		}
		latest = max(latest, e.Seconds)
		on(e)
	}
	if err := scanner.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("timeline line %d is longer than %d MiB", read+1, longestLine>>20)
	} else if err != nil {
		return fmt.Errorf("read timeline: %w", err)
	}
	if cut := new(json.SyntaxError); broken != nil && !errors.As(broken, &cut) {
		return broken // the last line is whole, and wrong
	}
	return nil
}

// Limits of what an event says: a run is no longer than a year, and what several watchers stamp comes no more than this out
// of its order.
const (
	mostSeconds  = 366 * 24 * 60 * 60
	mostBack     = 5.0
	mostDuration = math.MaxInt32 // of what the API has in seconds
	mostNumber   = 1_000_000     // of trials and lanes
)

// sound reports what is wrong with an event that follows one of second latest.
func (e Event) sound(latest float64) error {
	wrong := func(what string, value any) error { return fmt.Errorf("%s %v", what, value) }
	outside := func(v float64, most float64) bool { return v < 0 || v > most }
	switch {
	case e.Kind == "":
		return errors.New("an event without a kind")
	case outside(e.Seconds, mostSeconds):
		return wrong("t is out of range:", e.Seconds)
	case e.Seconds < latest-mostBack:
		return wrong(fmt.Sprintf("t runs backwards, from %.3f to", latest), e.Seconds)
	case outside(e.HoleSeconds, mostSeconds):
		return wrong("holeSeconds is out of range:", e.HoleSeconds)
	case outside(float64(e.Trial), mostNumber):
		return wrong("trial is out of range:", e.Trial)
	case outside(float64(e.Lane), mostNumber):
		return wrong("lane is out of range:", e.Lane)
	case e.Lease != nil && outside(float64(e.Lease.LeaseDurationSeconds), mostDuration):
		return wrong("leaseDurationSeconds is out of range:", e.Lease.LeaseDurationSeconds)
	case e.Retry != nil && outside(e.Retry.NextSeconds, mostSeconds):
		return wrong("nextSeconds is out of range:", e.Retry.NextSeconds)
	case e.Fault != nil && outside(e.Fault.PhaseSeconds, mostSeconds):
		return wrong("phaseSeconds is out of range:", e.Fault.PhaseSeconds)
	case e.Fault != nil && outside(e.Fault.AcceptWithinSeconds, mostSeconds):
		return wrong("acceptWithinSeconds is out of range:", e.Fault.AcceptWithinSeconds)
	case e.Fault != nil && outside(e.Fault.RetryPeriodSeconds, mostSeconds):
		return wrong("retryPeriodSeconds is out of range:", e.Fault.RetryPeriodSeconds)
	}
	return e.complete()
}

// complete reports a missing part, so that whoever reads a timeline may rely on what belongs to a kind.
func (e Event) complete() error {
	missing := false
	switch e.Kind {
	case FaultIssued:
		missing = e.Fault == nil
	case ProcessUp, ProcessGone:
		missing = e.Process == nil
	case LeaseSeen:
		missing = e.Lease == nil
	case PodSeen, PodGone:
		missing = e.Pod == nil
	case WorkSeen:
		missing = e.Work == nil
	case LeaseRequest:
		missing = e.Request == nil
	case Deployed:
		missing = e.Deploy == nil
	case LogLine, LogHole, LogEnded:
		missing = e.Log == nil
	default: // the others have a Note at most
	}
	if missing {
		return fmt.Errorf("an event of kind %s without what belongs to it", e.Kind)
	}
	return nil
}
