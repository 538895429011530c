package cmd

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"academy.example/lab/labctl/internal/timeline"
)

// progress tells what is being waited for: on a terminal as one line with a spinner and the elapsed time, elsewhere as
// one line for each step.
type progress struct {
	out  io.Writer
	live bool

	mu      sync.Mutex
	text    string
	since   time.Time
	stopped chan struct{}
	done    sync.WaitGroup
}

// newProgress begins to show progress. Stop must be called before anything else is printed.
func newProgress(out io.Writer) *progress {
	p := &progress{out: out, live: terminal(out), stopped: make(chan struct{})}
	if p.live {
		p.done.Go(p.spin)
	}
	return p
}

// terminal reports whether out can redraw a line.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Say shows the next step.
func (p *progress) Say(text string) {
	text = timeline.Visible(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == text {
		return
	}
	p.text, p.since = text, time.Now()
	if !p.live {
		fmt.Fprintf(p.out, "… %s\n", text)
	}
}

// Line prints a line of its own, above the spinner.
func (p *progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		fmt.Fprint(p.out, "\r\033[K")
	}
	fmt.Fprintln(p.out, lines(text))
}

// Stop ends the showing and clears the line. It may be called twice.
func (p *progress) Stop() {
	p.mu.Lock()
	select {
	case <-p.stopped:
	default:
		close(p.stopped)
	}
	p.mu.Unlock()
	p.done.Wait()
}

// room is left free at the end of the line for the ^C that a terminal echoes.
const room = 4

func (p *progress) spin() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	frames := []rune("|/-\\")
	for n := 0; ; n++ {
		select {
		case <-p.stopped:
			fmt.Fprint(p.out, "\r\033[K")
			return
		case <-tick.C:
			p.draw(frames[n%len(frames)])
		}
	}
}

func (p *progress) draw(frame rune) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == "" {
		return
	}
	line := fmt.Sprintf("%c %4.1f s  %s", frame, time.Since(p.since).Seconds(), p.text)
	if f, ok := p.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && len([]rune(line)) > width-room && width > room {
			line = string([]rune(line)[:width-room])
		}
	}
	fmt.Fprintf(p.out, "\r\033[K%s", line)
}
