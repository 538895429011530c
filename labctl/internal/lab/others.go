package lab

import (
	"context"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// What other work on a lab needs, such as the operation gate's: to be alone on it, to wait, and to notice that it is gone.

// Alone keeps a second labctl from the lab until release is called; doing is what the other is told. Nothing is left if this labctl
// is killed. The error is a provider.Problem that tells what the other is doing.
func Alone(cluster provider.Cluster, doing string) (release func(), err error) {
	return alone(cluster, doing)
}

// askEvery is how often a caller from outside asks.
const askEvery = 500 * time.Millisecond

// Wait asks twice a second until done, for at most limit; what is said meanwhile. A request that fails is tried again, unless its error is
// a provider.Problem. A lab that is gone ends it at once, with an error that wraps provider.ErrNoLab.
func (l *Lab) Wait(ctx context.Context, limit time.Duration, ask func(context.Context) (done bool, what string, err error)) error {
	asked := false
	return l.wait(ctx, limit, func(ctx context.Context) (bool, string, error) {
		if asked {
			_ = sleep(ctx, askEvery) // the limit is wait's
		}
		asked = true
		return ask(ctx)
	})
}

// Lost returns the error that the lab is not there any more, which wraps provider.ErrNoLab; nil as long as it is.
func (l *Lab) Lost(ctx context.Context) error { return l.lost(ctx) }
