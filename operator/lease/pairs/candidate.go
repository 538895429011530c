package pairs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// candidate is one real elector with a client of its own, whose requests are watched.
type candidate struct {
	elector *leaderelection.LeaderElector

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with every answer
	cutOff  context.Context
	cut     context.CancelFunc

	polls   int
	writes  []time.Time // when a write was answered
	slowest time.Duration
	refused int
}

// candidate makes an elector on the named Lease.
func (c Config) candidate(lease, side string, release bool) (*candidate, error) {
	made := &candidate{changed: make(chan struct{})}
	made.cutOff, made.cut = context.WithCancel(context.Background())
	config := rest.CopyConfig(c.REST)
	config.QPS = -1
	config.Dial = new(net.Dialer).DialContext // its own: transports are shared among equal configurations
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &watched{made, next} })
	client, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: lease}, Client: client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: lease + "-" + side}, Labels: map[string]string{Label: "true"}}
	made.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: c.Timing.LeaseDuration, RenewDeadline: c.Timing.RenewDeadline, RetryPeriod: c.Timing.RetryPeriod, ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	return made, err
}

// run runs the elector until ctx ends, without its log: a hundred of them would drown the result.
func (c *candidate) run(ctx context.Context) { c.elector.Run(klog.NewContext(ctx, logr.Discard())) }

// errCut is what a candidate that was cut off gets for every request.
var errCut = errors.New("cut off")

// watched counts the requests of a candidate and notes when they were answered.
type watched struct {
	of   *candidate
	next http.RoundTripper
}

// RoundTrip sends the request unless the candidate is cut off; one that is under way then is given up.
func (w *watched) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(w.of.cutOff, cancel)
	defer stop()
	if w.of.cutOff.Err() != nil {
		cancel()
		return nil, errCut
	}
	begun := time.Now()
	answer, err := w.next.RoundTrip(request.WithContext(ctx))
	w.of.answered(request.Method, answer, err, begun)
	return answer, err
}

func (c *candidate) answered(method string, answer *http.Response, err error, begun time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.cutOff.Err() == nil {
		c.slowest = max(c.slowest, now.Sub(begun))
	}
	switch {
	case err != nil:
		return
	case answer.StatusCode == http.StatusTooManyRequests:
		c.refused++
	case method == http.MethodGet:
		c.polls++
	case answer.StatusCode < 300:
		c.writes = append(c.writes, now)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *candidate) wrote() bool       { return len(c.writes) > 0 }
func (c *candidate) polledTwice() bool { return c.polls >= 2 }

// wait waits until something is so of the candidate.
func (c *candidate) wait(ctx context.Context, so func() bool, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		done, changed := so(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("nothing happened within %s", limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *candidate) firstWrite() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) == 0 {
		return time.Time{}, false
	}
	return c.writes[0], true
}

func (c *candidate) lastWrite() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) == 0 {
		return time.Time{}, false
	}
	return c.writes[len(c.writes)-1], true
}

// renewEvery is the median pause between the writes, in seconds; 0 if there were fewer than three.
func (c *candidate) renewEvery() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.writes) < 3 {
		return 0
	}
	var pauses []float64
	for i := range c.writes[1:] {
		pauses = append(pauses, c.writes[i+1].Sub(c.writes[i]).Seconds())
	}
	slices.Sort(pauses)
	return pauses[len(pauses)/2]
}

func (c *candidate) trouble() (slowest time.Duration, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slowest, c.refused
}
