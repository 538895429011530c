package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// rotateAt is the size at which a log moves to its old file.
	rotateAt = 10 << 20
	// rotateEvery is the least time between two moves: who follows a log can miss a file that comes and goes quicker.
	rotateEvery = 2 * time.Second
	// longestLine is where a line is split, so that output without line ends cannot fill the memory.
	longestLine = 16 << 10
	// stampLayout is the fixed-width stamp of the container runtime interface's log format.
	stampLayout = "2006-01-02T15:04:05.000000000Z07:00"
)

// Log keeps a container's output in the format of the container runtime interface (`time stream F text`);
// at 10 MiB it starts anew and keeps one old file, PATH.old.
type Log struct {
	path   string
	limit  int64
	now    func() time.Time
	mu     sync.Mutex
	file   *os.File
	size   int64
	moved  time.Time
	closed bool
}

// OpenLog creates the log at path (0600) or continues it.
func OpenLog(path string) (*Log, error) {
	l := &Log{path: path, limit: rotateAt, now: time.Now}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // the first error is the one to tell
		return fmt.Errorf("open log: %w", err)
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Stream returns the writer for "stdout" or "stderr"; Flush it when the process has ended.
func (l *Log) Stream(name string) *LogStream { return &LogStream{log: l, name: name} }

// Close ends the log; later writes are dropped.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.file.Close()
}

func (l *Log) line(stream, tag string, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	entry := make([]byte, 0, len(stampLayout)+len(stream)+len(text)+8)
	now := l.now()
	entry = now.UTC().AppendFormat(entry, stampLayout)
	entry = fmt.Appendf(entry, " %s %s ", stream, tag)
	entry = append(append(entry, text...), '\n')
	if l.size > 0 && l.size+int64(len(entry)) > l.limit && now.Sub(l.moved) >= rotateEvery {
		if err := l.rotate(); err != nil {
			return err
		}
		l.moved = now
	}
	n, err := l.file.Write(entry)
	l.size += int64(n)
	return err
}

func (l *Log) rotate() error {
	if err := os.Rename(l.path, l.path+".old"); err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	old := l.file
	if err := l.open(); err != nil {
		return err
	}
	return old.Close()
}

// LogStream is one output of a process; it is written to by one goroutine.
type LogStream struct {
	log     *Log
	name    string
	partial []byte
}

var _ io.Writer = (*LogStream)(nil)

// Write logs each complete line; it always takes all of data, so that a full disk never stops the process.
func (s *LogStream) Write(data []byte) (int, error) {
	rest := data
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			s.partial = append(s.partial, rest...)
			break
		}
		text := rest[:end]
		if len(s.partial) > 0 {
			text = append(s.partial, text...)
		}
		_ = s.log.line(s.name, "F", text) // see above
		s.partial, rest = s.partial[:0], rest[end+1:]
	}
	for len(s.partial) > longestLine {
		_ = s.log.line(s.name, "P", s.partial[:longestLine]) // see above
		s.partial = append(s.partial[:0], s.partial[longestLine:]...)
	}
	return len(data), nil
}

// Flush logs what follows the last line end.
func (s *LogStream) Flush() {
	if len(s.partial) > 0 {
		_ = s.log.line(s.name, "F", s.partial) // a lost last line is all that can happen
		s.partial = nil
	}
}
