package election

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"academy.example/lab/operator/api"
)

// Narrate returns a context in which client-go's elector speaks through log, in the messages of package api: a standby's
// attempts, which client-go tells only at verbosity 4, and each request for the Lease that failed. Lines of other parts
// of client-go pass only if they are errors.
func Narrate(ctx context.Context, log *slog.Logger) context.Context {
	return klog.NewContext(ctx, logr.FromSlogHandler(&narrator{log: log, story: &story{}}))
}

// What client-go's leaderelection.go says, word for word. A changed wording shows in the tests of Narrate, which run the elector.
const (
	saysHeld           = "Lease is held by and has not yet expired"
	saysAttemptFailed  = "Failed to acquire lease"
	saysAcquired       = "Successfully acquired lease"
	saysGetFailed      = "Error retrieving lease lock"
	saysCreateFailed   = "Error initially creating lease lock"
	saysUpdateFailed   = "Failed to update lease"
	saysFastPathFailed = "Failed to update lease optimistically, falling back to slow path"
	saysRenewFailed    = "Failed to renew lease"
	saysNoReleaseGet   = "error retrieving resource lock"
	saysNoReleaseWrite = "Failed to release lease"
	saysNoReleaseGone  = "lease lock not found"

	// of the coordinated election
	saysHeldElected = "Lease is held and has not yet expired"
	saysUpdateLost  = "Failed to update lock"
	saysEndOfTerm   = "Lease is marked as 'end of term'"
)

// chattiest is the verbosity up to which the narrator listens: klog's V(6) is slog's level -6.
const chattiest = slog.Level(-6)

// story is what the elector said so far; one elector, so one story.
type story struct {
	mu       sync.Mutex
	holder   string // the other holder that the last attempt met
	attempts int
	leading  bool
}

// narrator is a slog.Handler that retells the elector's lines.
type narrator struct {
	log   *slog.Logger
	story *story
	attrs []slog.Attr
}

func (n *narrator) Enabled(_ context.Context, level slog.Level) bool { return level >= chattiest }

func (n *narrator) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &narrator{log: n.log, story: n.story, attrs: append(append([]slog.Attr{}, n.attrs...), attrs...)}
}

// WithGroup keeps the keys as they are: the elector groups nothing.
func (n *narrator) WithGroup(string) slog.Handler { return n }

func (n *narrator) Handle(ctx context.Context, r slog.Record) error {
	holder, cause := "", ""
	read := func(a slog.Attr) bool {
		switch a.Key {
		case "holder":
			holder = a.Value.String()
		case "err":
			cause = a.Value.String()
		}
		return true
	}
	for _, a := range n.attrs {
		read(a)
	}
	r.Attrs(read)

	n.story.mu.Lock()
	defer n.story.mu.Unlock()
	n.retell(ctx, r, holder, cause)
	return nil
}

func (n *narrator) retell(ctx context.Context, r slog.Record, holder, cause string) {
	say := func(level slog.Level, message string, args ...any) { n.log.Log(ctx, level, message, args...) }
	failed := func(request string) {
		say(slog.LevelWarn, api.MessageLeaseRequest, api.KeyRequest, request, api.KeyError, cause)
	}
	s := n.story
	switch r.Message {
	case saysHeld, saysHeldElected:
		s.holder = holder
		if s.leading {
			say(slog.LevelWarn, api.MessageHeldByOther, api.KeyHolder, holder)
		}
	case saysAttemptFailed:
		s.attempts++
		args := []any{api.KeyAttempt, s.attempts}
		if s.holder != "" { // else the request failed, or the lease was free and another candidate was quicker
			args = append(args, api.KeyHolder, s.holder)
		}
		say(slog.LevelInfo, api.MessageAttempt, args...)
		s.holder = ""
	case saysAcquired:
		s.leading = true
		say(slog.LevelInfo, api.MessageAcquired)
	case saysGetFailed:
		failed("get")
	case saysCreateFailed:
		failed("create")
	case saysUpdateFailed, saysFastPathFailed, saysUpdateLost:
		failed("update")
	case saysEndOfTerm:
		say(slog.LevelInfo, api.MessageEndOfTerm)
	case saysRenewFailed:
		if cause != context.Canceled.Error() { // else it was asked to stop
			say(slog.LevelWarn, api.MessageRenewFailed, api.KeyError, cause)
		}
	case saysNoReleaseGet, saysNoReleaseWrite:
		say(slog.LevelError, api.MessageReleaseFailed, api.KeyError, cause)
	case saysNoReleaseGone:
		say(slog.LevelError, api.MessageReleaseFailed, api.KeyError, errLeaseGone.Error())
	default:
		if r.Level >= slog.LevelWarn {
			say(r.Level, api.MessageLibrary, api.KeyText, r.Message, api.KeyError, cause)
		}
	}
}

var errLeaseGone = errors.New("the Lease does not exist")
