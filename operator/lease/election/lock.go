package election

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"academy.example/lab/operator/api"
)

// What a leader may read in the Lease that ends its term at once.
var (
	errGone    = errors.New("the Lease was deleted")
	errEmptied = errors.New("somebody else released the Lease")
	errTwin    = errors.New("another process renewed the Lease under this identity")
	errOver    = errors.New("this term has ended")
)

// guardedLock is client-go's LeaseLock with eyes: it bounds each request, notes when each renewal was sent, and tells the
// term what it reads.
type guardedLock struct {
	*resourcelock.LeaseLock
	guards  api.Guards
	timeout time.Duration
	log     func(holder string)

	begin func(number int64) *term
	term  atomic.Pointer[term] // nil until the Lease was acquired

	mu   sync.Mutex
	sent []time.Time // renewTimes that this process may have written, newest last
}

func newLock(g Guarded, begin func(number int64) *term) *guardedLock {
	l := &guardedLock{
		LeaseLock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name},
			Client:     g.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: g.Identity},
		},
		guards: g.Guards, begin: begin,
		log: func(holder string) { g.Log.Warn(api.MessageHeldByOther, api.KeyHolder, holder) },
	}
	if g.Guards.Client {
		l.timeout = RequestTimeout(g.Timing)
	}
	return l
}

func (l *guardedLock) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, l.timeout)
}

// Get reads the Lease. To a leader it is also the news: whoever else is in there ends the term at once, where client-go
// would go on for another RenewDeadline.
func (l *guardedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	record, raw, err := l.LeaseLock.Get(ctx)
	t := l.term.Load()
	if t == nil || !l.guards.Deadline || t.Context.Err() != nil {
		return record, raw, err
	}
	over := func(reason error) (*resourcelock.LeaderElectionRecord, []byte, error) {
		t.end(reason)
		return nil, nil, reason // client-go must not write: a leader is not made again within its term
	}
	switch {
	case apierrors.IsNotFound(err):
		return over(errGone)
	case err != nil:
		return nil, nil, err
	case record.HolderIdentity == "":
		return over(errEmptied)
	case record.HolderIdentity != l.Identity():
		t.end(fmt.Errorf("the Lease is held by %s", record.HolderIdentity))
		return record, raw, nil // client-go sees for itself, and says so
	case !l.mine(record.RenewTime.Time):
		return over(errTwin)
	}
	return record, raw, nil
}

// Create makes the Lease with this process as its holder.
func (l *guardedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.LeaseLock.Create)
}

// Update acquires, renews, or releases if the record names no holder.
func (l *guardedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.LeaseLock.Update)
}

func (l *guardedLock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	t := l.term.Load()
	if record.HolderIdentity == "" {
		ctx, cancel := l.bounded(ctx)
		defer cancel()
		return send(ctx, record)
	}
	if t != nil && t.Err() != nil {
		return errOver
	}
	// The elector took this time before it sent the first request of its attempt, so it is never later than the write. It
	// is also what a standby compares: a second write of one attempt carries the same time and looks like no change.
	sent := record.RenewTime.Time
	l.remember(sent)
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	if err := send(ctx, record); err != nil {
		return err
	}
	if t == nil {
		t = l.begin(int64(record.LeaderTransitions))
		t.renewed(sent)
		l.term.Store(t)
		return nil
	}
	t.renewed(sent)
	return nil
}

// remembered is more than a leader can write before its deadline without getting an answer.
const remembered = 64

func (l *guardedLock) remember(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, sent)
	if len(l.sent) > remembered {
		l.sent = l.sent[1:]
	}
}

// mine reports whether this process may have written that renewTime, which the API server keeps to the microsecond.
func (l *guardedLock) mine(renewed time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, sent := range l.sent {
		if sent.Truncate(time.Microsecond).Equal(renewed.Truncate(time.Microsecond)) {
			return true
		}
	}
	return false
}

// release gives the Lease back if this process is still its holder. The object is read first, and the write names the
// version read, so a successor is never wiped out.
func (g Guarded) release(lock *guardedLock) {
	ctx, cancel := context.WithTimeout(context.Background(), ReleaseLimit)
	defer cancel()
	if err := tryRelease(ctx, lock); err != nil {
		g.Log.Error(api.MessageReleaseFailed, api.KeyError, err.Error())
		return
	}
	g.Log.Info(api.MessageReleased)
}

func tryRelease(ctx context.Context, lock *guardedLock) error {
	for {
		record, _, err := lock.Get(ctx)
		if apierrors.IsNotFound(err) {
			return errLeaseGone
		}
		if err != nil {
			return err
		}
		if holder := record.HolderIdentity; holder != lock.Identity() {
			return fmt.Errorf("it is held by %q by now, and left alone", holder)
		}
		now := metav1.Now()
		err = lock.Update(ctx, resourcelock.LeaderElectionRecord{ // as client-go's release writes it
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
		if !apierrors.IsConflict(err) { // a conflict is one with the last renewal, which was still under way
			return err
		}
	}
}

// candidacy is what no two electors of one process may share: each would take the other's renewals for its own.
type candidacy struct {
	client                    coordinationv1.LeasesGetter
	namespace, name, identity string
}

var candidacies sync.Map // of candidacy

// claim refuses a second elector of the same identity on the same Lease in this process.
func claim(g Guarded) (leave func(), err error) {
	if !reflect.ValueOf(g.Client).Comparable() {
		return func() {}, nil
	}
	c := candidacy{g.Client, g.Namespace, g.Name, g.Identity}
	if _, taken := candidacies.LoadOrStore(c, true); taken {
		return nil, api.Problem{
			What: fmt.Sprintf("%s contends for Lease %s/%s already, in this process: the two would both lead", g.Identity, g.Namespace, g.Name),
			Hint: "put all controllers into one WithLease, or give each elector an identity of its own",
		}
	}
	return func() { candidacies.Delete(c) }, nil
}
