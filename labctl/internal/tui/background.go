package tui

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// askLimit is how long a terminal may take to tell its background. termenv's own question waits for five seconds, in which no key
// is heard, and a second Ctrl-C leaves the terminal raw.
const askLimit = 300 * time.Millisecond

// dark asks the terminal whether its background is; one that does not answer, or is none, is taken for dark.
func dark(in io.Reader, out io.Writer) bool {
	from, ok1 := in.(*os.File)
	to, ok2 := out.(*os.File)
	if !ok1 || !ok2 || !term.IsTerminal(from.Fd()) || !term.IsTerminal(to.Fd()) {
		return true
	}
	before, err := term.MakeRaw(from.Fd())
	if err != nil {
		return true
	}
	// Every terminal answers the second question, so that nobody waits for one that does not know the first.
	fmt.Fprint(to, ansi.RequestBackgroundColor+ansi.RequestPrimaryDeviceAttributes)
	answer := listen(int(from.Fd()), askLimit)
	term.Restore(from.Fd(), before)
	if bytes.IndexByte(answer, ctrlC) >= 0 { // typed meanwhile: the terminal made no signal of it
		syscall.Kill(os.Getpid(), syscall.SIGINT)
	}
	return !light(string(answer))
}

const ctrlC = 3

// listen reads until the answer to the second question, which ends with a c, or the limit.
func listen(fd int, limit time.Duration) (answer []byte) {
	buffer := make([]byte, 64)
	for deadline := time.Now().Add(limit); ; {
		left := time.Until(deadline)
		if left <= 0 {
			return answer
		}
		var waiting unix.FdSet
		waiting.Set(fd)
		timeout := unix.NsecToTimeval(left.Nanoseconds())
		n, err := unix.Select(fd+1, &waiting, nil, nil, &timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return answer
		}
		got, err := unix.Read(fd, buffer)
		if err != nil || got == 0 {
			return answer
		}
		answer = append(answer, buffer[:got]...)
		if at := bytes.LastIndex(answer, []byte("\x1b[?")); at >= 0 && bytes.IndexByte(answer[at:], 'c') >= 0 {
			return answer
		}
	}
}

// light reports whether an answer names a background that is brighter than half.
func light(answer string) bool {
	_, color, found := strings.Cut(answer, "\x1b]11;")
	if !found {
		return false
	}
	if end := strings.IndexAny(color, "\x07\x1b"); end >= 0 {
		color = color[:end]
	}
	c := ansi.XParseColor(color)
	if c == nil {
		return false
	}
	r, g, b, _ := c.RGBA()
	return (299*r+587*g+114*b)/1000 > 0x7fff
}
