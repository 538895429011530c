package electiontest

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Client is one candidate's connection to a Store. It may be given to resourcelock.LeaseLock.
type Client struct {
	store *Store

	mu    sync.Mutex
	fault Fault
}

// Fault is what happens to the requests of one Client that are sent from now on. The zero value lets them through.
type Fault struct {
	Refuse   error         // answer with this error at once and do nothing
	Hang     bool          // answer nothing until the caller's context ends: a network that drops packets
	Request  time.Duration // takes a request this long to reach the store
	Response time.Duration // takes the answer this long to come back; the write is committed before
}

// Set replaces the fault of this client; requests under way keep theirs.
func (c *Client) Set(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// Leases returns the Leases of one namespace. Only Get, Create and Update are there: the elector uses no others.
func (c *Client) Leases(namespace string) client.LeaseInterface {
	return &leases{client: c, namespace: namespace}
}

// leases panics on the methods it does not override, which is louder than a wrong answer.
type leases struct {
	client.LeaseInterface
	client    *Client
	namespace string
}

func (l *leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.client.do(ctx, func(s *Store) (*coordinationv1.Lease, error) {
		return s.get(types.NamespacedName{Namespace: l.namespace, Name: name})
	})
}

func (l *leases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	sent := lease.DeepCopy()
	if len(o.DryRun) > 0 {
		return l.client.do(ctx, func(s *Store) (*coordinationv1.Lease, error) { return s.admit(sent) })
	}
	return l.client.do(ctx, func(s *Store) (*coordinationv1.Lease, error) { return s.create(sent) })
}

func (l *leases) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	sent := lease.DeepCopy()
	return l.client.do(ctx, func(s *Store) (*coordinationv1.Lease, error) { return s.update(sent) })
}

// do sends one request through the client's fault.
func (c *Client) do(ctx context.Context, request func(*Store) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	c.mu.Lock()
	fault := c.fault
	c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if fault.Refuse != nil {
		return nil, fault.Refuse
	}
	if fault.Hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := pause(ctx, fault.Request); err != nil {
		return nil, err
	}
	lease, err := request(c.store)
	if late := pause(ctx, fault.Response); late != nil {
		return nil, late // committed or not, the caller cannot know
	}
	return lease, err
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
