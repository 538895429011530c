package timeline

import (
	"fmt"
	"strings"

	"academy.example/lab/operator/api"
)

// answers follows whether the API server's answers reach the holder in time. That none did is in the holder's log; that they
// were given is in the API server's: behind a cut, which the holder's log tells in the same words, none of its requests arrives.
type answers struct {
	n        int     // requests after the last renewal was written that the API server answered
	last     float64 // when the last of them was, in run seconds
	code     int     // of that
	timeouts int     // requests that the holder gave up
}

// answerGrain is how long after a renewal was seen a request is taken for another one than that renewal itself.
const answerGrain = 0.2

// given takes a request of the holder that was answered.
func (a *answers) given(e Event, renewed float64) {
	if at := e.when(e.Request.Answered); at > renewed+answerGrain {
		a.n, a.last, a.code = a.n+1, at, e.Request.Code
	}
}

// missed takes a line of the holder's log.
func (a *answers) missed(l Log) {
	failed := l.Message == api.MessageLeaseRequest || l.Message == api.MessageRenewFailed || l.Message == api.MessageReleaseFailed
	if failed && (strings.Contains(l.Raw, "deadline exceeded") || strings.Contains(l.Raw, "Client.Timeout")) {
		a.timeouts++
	}
}

func (a *answers) late() bool { return a.n > 0 && a.timeouts > 0 }

func (a *answers) evidence(t0, silent float64) string {
	return fmt.Sprintf("after the last renewal the API server answered the holder %s, last %.2f s after the fault with %d, and the holder logged %s that no answer came in time; it could not renew for %.1f s",
		times(a.n), a.last-t0, a.code, times(a.timeouts), silent)
}

// times is how often, in words.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
