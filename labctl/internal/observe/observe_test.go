package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/timeline"
)

// played is a list-and-watch of Leases whose watches a test plays.
type played struct {
	mu      sync.Mutex
	lists   []string // the version each list returns
	watches []*watch.RaceFreeFakeWatcher
	from    []string // the version each watch was asked to begin from
	errs    []error  // what each watch call returns instead, if not nil
}

func lease(version, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

func (s *played) stream(o *Observer) stream {
	return stream{
		what: "lease",
		list: func(context.Context) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			version := s.lists[0]
			s.lists = s.lists[1:]
			return &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: version}, Items: []coordinationv1.Lease{*lease(version, "list-"+version)}}, nil
		},
		watch: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			n := len(s.from)
			s.from = append(s.from, options.ResourceVersion)
			if n < len(s.errs) && s.errs[n] != nil {
				return nil, s.errs[n]
			}
			w := watch.NewRaceFreeFake()
			s.watches = append(s.watches, w)
			return w, nil
		},
		on: o.leases().on,
	}
}

// opened is how many watches were opened by now.
func (s *played) opened() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

// at is one of the watches that were opened.
func (s *played) at(n int) *watch.RaceFreeFakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[n]
}

// run follows a source inside a bubble, plays it, and returns what was told.
func run(t *testing.T, s *played, play func(o *Observer)) (told []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := New(Config{Client: fake.NewClientset()})
		o.Listen(func(e timeline.Event) {
			switch e.Kind {
			case timeline.LeaseSeen:
				told = append(told, e.Lease.Holder)
			default:
				told = append(told, string(e.Kind))
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ready := make(chan error, 1)
		var running sync.WaitGroup
		running.Go(func() { o.follow(ctx, s.stream(o), ready) })
		synctest.Wait()
		play(o)
		synctest.Wait()
		cancel()
		for _, w := range s.watches {
			w.Stop()
		}
		running.Wait()
	})
	return told
}

func TestFollow_ABrokenWatchIsResumedFromTheLastVersionWithoutAHole(t *testing.T) {
	s := &played{lists: []string{"10"}}
	told := run(t, s, func(*Observer) {
		s.at(0).Modify(lease("11", "a"))
		synctest.Wait()
		s.at(0).Stop()
		synctest.Wait()
		s.at(1).Modify(lease("12", "b"))
	})
	if want := []string{"list-10", "a", "b"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if want := []string{"10", "11"}; !slices.Equal(s.from[:2], want) {
		t.Errorf("watched from %v, want %v", s.from, want)
	}
}

func TestFollow_AVersionTheServerForgotIsAHole(t *testing.T) {
	s := &played{lists: []string{"10", "90"}}
	gone := apierrors.NewResourceExpired("too old resource version").Status()
	told := run(t, s, func(*Observer) { s.at(0).Error(&gone) })
	if want := []string{"list-10", "list-90", "watch-hole"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestFollow_AListAfterAHoleTellsWhatWasDeletedInIt(t *testing.T) {
	s := &played{lists: []string{"10", "90"}}
	gone := apierrors.NewResourceExpired("too old resource version").Status()
	told := run(t, s, func(*Observer) {
		other := lease("11", "other")
		other.UID = "another object"
		s.at(0).Add(other)
		synctest.Wait()
		s.at(0).Error(&gone)
	})
	if want := []string{"list-10", "other", "list-90", "lease-deleted", "watch-hole"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestFollow_AWatchThatWasAwayForLongDeliversLate(t *testing.T) {
	s := &played{lists: []string{"10"}, errs: []error{nil, errors.New("connection refused"), errors.New("connection refused")}}
	told := run(t, s, func(*Observer) {
		s.at(0).Stop()
		for s.opened() < 2 {
			<-virtual(retryAfter)
		}
		s.at(1).Modify(lease("12", "b"))
	})
	if want := []string{"list-10", "watch-hole", "b"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestFollow_AServerThatIsAwayIsAskedAgain(t *testing.T) {
	s := &played{lists: []string{"10"}, errs: []error{errors.New("connection refused"), errors.New("connection refused")}}
	run(t, s, func(*Observer) {
		for s.opened() == 0 { // virtual time: the pauses pass while this goroutine waits
			<-virtual(retryAfter)
		}
	})
	if want := []string{"10", "10", "10"}; !slices.Equal(s.from, want) {
		t.Errorf("watched from %v, want %v", s.from, want)
	}
}

func TestFollow_AMissingRightEndsTheWatching(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", errors.New("no"))
	s := &played{lists: []string{"10"}, errs: []error{forbidden}}
	run(t, s, func(o *Observer) {
		select {
		case err := <-o.Failed():
			if !strings.Contains(err.Error(), "watch lease") {
				t.Errorf("got %v, want it to say what was watched", err)
			}
		default:
			t.Error("got no failure")
		}
	})
}

func TestParseLine(t *testing.T) {
	l := parseLine([]byte(`{"time":"2026-11-30T12:00:00.5Z","level":"INFO","msg":"reconcile","identity":"pod-a","sequence":3}`))
	if l.Message != "reconcile" || l.Identity != "pod-a" || l.Raw != "" || l.Time.Nanosecond() != 5e8 {
		t.Errorf("got %+v", l)
	}
	if l := parseLine([]byte(`{"level":"ERROR","msg":"forbidden","verb":"update"}`)); !strings.Contains(l.Raw, "update") {
		t.Errorf("an error: got %+v, want the whole line kept", l)
	}
	if l := parseLine([]byte("panic: oh")); l.Message != "panic: oh" {
		t.Errorf("a line that is no JSON: got %+v", l)
	}
}

// virtual is a timer of the bubble.
func virtual(d time.Duration) <-chan time.Time { return time.After(d) }
