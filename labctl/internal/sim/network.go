package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

var errRefused = errors.New("connection refused")

// link is one candidate's way to the Lease.
type link struct {
	next     client.LeasesGetter
	process  *process
	tape     *tape
	identity string
	latency  time.Duration // there and back
	timeout  time.Duration // of the client; 0: none
	seconds  int32         // leaseDurationSeconds as others are to read it, whatever this candidate's clock makes of it; 0: as it is

	mu      sync.Mutex
	fault   network
	changed chan struct{} // closed by the next set
}

// network is how packets fare at this moment.
type network struct {
	requests, responses bool          // dropped
	refuse              bool          // answered with an error at once
	late                time.Duration // answers
}

func (l *link) set(n network) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = n
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

func (l *link) now() network {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// change returns the network of now, and what is closed when it is another.
func (l *link) change() (network, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.fault, l.changed
}

// Leases returns the Leases of one namespace, as seen through the network.
func (l *link) Leases(namespace string) client.LeaseInterface {
	return &leases{link: l, next: l.next.Leases(namespace)}
}

// leases panics on what the elector does not use.
type leases struct {
	client.LeaseInterface
	link *link
	next client.LeaseInterface
}

func (l *leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.link.do(ctx, "get", func() (*coordinationv1.Lease, error) { return l.next.Get(ctx, name, o) })
}

func (l *leases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	sent := l.link.written(lease)
	return l.link.do(ctx, "create", func() (*coordinationv1.Lease, error) { return l.next.Create(context.WithoutCancel(ctx), sent, o) })
}

func (l *leases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	sent := l.link.written(lease)
	return l.link.do(ctx, "update", func() (*coordinationv1.Lease, error) { return l.next.Update(context.WithoutCancel(ctx), sent, o) })
}

func (l *link) written(lease *coordinationv1.Lease) *coordinationv1.Lease {
	sent := lease.DeepCopy()
	if l.seconds != 0 && sent.Spec.HolderIdentity != nil && *sent.Spec.HolderIdentity != "" {
		sent.Spec.LeaseDurationSeconds = &l.seconds
	}
	return sent
}

// do sends one request. What is dropped is sent again, as TCP does, until it gets through or the caller gives up.
func (l *link) do(ctx context.Context, verb string, request func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if l.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.timeout)
		defer cancel()
	}
	if err := l.hop(ctx, l.latency/2, func(n network) bool { return n.requests }); err != nil {
		return nil, err
	}
	lease, err := request()
	l.tape.request(verb, l.identity, err)
	if err == nil && verb != "get" {
		l.tape.lease(lease)
	}
	if lost := l.hop(ctx, l.latency-l.latency/2+l.now().late, func(n network) bool { return n.responses }); lost != nil {
		return nil, lost // committed or not, the candidate can't know
	}
	if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == l.identity {
		l.process.renewed()
	}
	return lease, err
}

// hop carries one packet.
func (l *link) hop(ctx context.Context, takes time.Duration, dropped func(network) bool) error {
	l.process.thawed()
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.now().refuse {
		return errRefused
	}
	if takes > 0 {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	for n, changed := l.change(); dropped(n); n, changed = l.change() {
		select {
		case <-changed:
		case <-ctx.Done():
			l.process.thawed()
			return ctx.Err()
		}
	}
	l.process.thawed()
	return ctx.Err()
}
