package kind

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/kind/pkg/log"
)

// steps is kind's logger: it tells the beginning of each step, and keeps every word in a file.
type steps struct {
	say   func(string)
	begun time.Time

	mu   sync.Mutex
	file io.Writer
}

var _ log.Logger = (*steps)(nil)

// keepLevel is the most that is kept: kubeadm's whole output.
const keepLevel = 3

// spoken are kind's steps in the words that a person needs. A step that is not here is told in kind's own.
var spoken = map[string]string{
	"Ensuring node image":     "looking for the node image",
	"Preparing nodes":         "starting two node containers",
	"Writing configuration":   "writing the nodes' configuration",
	"Starting control-plane":  "starting the control plane",
	"Installing CNI":          "installing the pod network",
	"Installing StorageClass": "installing the storage class",
	"Joining worker nodes":    "joining the worker node",
}

// step returns the step that a line of kind's log begins: ` • Preparing nodes 📦 📦   ...`.
func step(line string) (string, bool) {
	text, isStep := strings.CutPrefix(strings.TrimSpace(line), "• ")
	if !isStep || !strings.HasSuffix(text, "...") {
		return "", false
	}
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r > 0x2000 {
			return -1 // pictures
		}
		return r
	}, strings.TrimSuffix(text, "...")))
	for begin, words := range spoken {
		if strings.HasPrefix(text, begin) {
			return words, true
		}
	}
	return text, true
}

func (s *steps) take(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.file, "%7.2f %s\n", time.Since(s.begun).Seconds(), strings.TrimRight(line, "\n"))
	if text, begins := step(line); begins {
		s.say(fmt.Sprintf("kind: %s (%.1f s so far)", text, time.Since(s.begun).Seconds()))
	}
}

// Warn and the other methods are kind's log.Logger.
func (s *steps) Warn(message string)               { s.take(message) }
func (s *steps) Warnf(format string, args ...any)  { s.take(fmt.Sprintf(format, args...)) }
func (s *steps) Error(message string)              { s.take(message) }
func (s *steps) Errorf(format string, args ...any) { s.take(fmt.Sprintf(format, args...)) }

// V returns the logger of a level.
func (s *steps) V(level log.Level) log.InfoLogger {
	if level > keepLevel {
		return log.NoopInfoLogger{}
	}
	return line{s}
}

// line takes what is said on one level.
type line struct{ to *steps }

func (l line) Info(message string)              { l.to.take(message) }
func (l line) Infof(format string, args ...any) { l.to.take(fmt.Sprintf(format, args...)) }
func (l line) Enabled() bool                    { return true }
