package electiontest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync"
)

// Lines collects what a slog.JSONHandler writes to it. The zero value is empty.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps p and never fails.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns all lines as they were written.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// All returns the lines with this message, oldest first.
func (l *Lines) All(message string) []map[string]any {
	var found []map[string]any
	for _, line := range bytes.Split([]byte(l.String()), []byte("\n")) {
		var entry map[string]any
		if json.Unmarshal(line, &entry) == nil && entry[slog.MessageKey] == message {
			found = append(found, entry)
		}
	}
	return found
}

// Count returns the number of lines with this message.
func (l *Lines) Count(message string) int { return len(l.All(message)) }

// Last returns the newest line with this message, or nil.
func (l *Lines) Last(message string) map[string]any {
	if found := l.All(message); len(found) > 0 {
		return found[len(found)-1]
	}
	return nil
}
