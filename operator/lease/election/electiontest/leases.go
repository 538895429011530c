// Package electiontest holds an in-memory store of Leases for tests that run client-go's real elector in virtual time.
// It refuses what the API server refuses: stale versions, updates without a version, and durations that are not positive.
package electiontest

import (
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Store is the API server's side: one set of Leases that all its clients see. The zero value is an empty store.
type Store struct {
	// Coordinates is whether the feature gate CoordinatedLeaderElection is on: without it strategy and preferredHolder are dropped.
	Coordinates bool

	mu      sync.Mutex
	version int
	leases  map[types.NamespacedName]*coordinationv1.Lease
	writes  []Write
}

// Write is one committed write, or the removal of a Lease.
type Write struct {
	At          time.Time // when it was committed
	Holder      string    // "" after a release or a removal
	Transitions int
	Removed     bool
}

// Writes returns all committed writes so far, oldest first.
func (s *Store) Writes() []Write {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Write(nil), s.writes...)
}

// Lease returns a copy of the Lease as it is stored, or nil.
func (s *Store) Lease(namespace, name string) *coordinationv1.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[types.NamespacedName{Namespace: namespace, Name: name}].DeepCopy()
}

// Remove deletes the Lease, as `kubectl delete lease` does.
func (s *Store) Remove(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, types.NamespacedName{Namespace: namespace, Name: name})
	s.writes = append(s.writes, Write{At: time.Now(), Removed: true})
}

// Client returns a candidate's own way to the store. Faults set on it touch nobody else.
func (s *Store) Client() *Client { return &Client{store: s} }

func (s *Store) get(key types.NamespacedName) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lease, ok := s.leases[key]; ok {
		return lease.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource(), key.Name)
}

func (s *Store) create(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: lease.Namespace, Name: lease.Name}
	if _, exists := s.leases[key]; exists {
		return nil, apierrors.NewAlreadyExists(resource(), lease.Name)
	}
	return s.commit(key, lease, types.UID("uid-"+strconv.Itoa(s.version+1)))
}

func (s *Store) update(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: lease.Namespace, Name: lease.Name}
	if lease.ResourceVersion == "" {
		return nil, invalid(lease, field.Required(field.NewPath("metadata", "resourceVersion"), "must be specified for an update"))
	}
	old, exists := s.leases[key]
	switch {
	case !exists && lease.UID != "":
		return nil, conflict(lease.Name, "the UID in the precondition belongs to no object")
	case !exists:
		return nil, apierrors.NewNotFound(resource(), lease.Name)
	case lease.UID != "" && lease.UID != old.UID:
		return nil, conflict(lease.Name, "the UID in the precondition does not match the object")
	case lease.ResourceVersion != old.ResourceVersion:
		return nil, conflict(lease.Name, "the object has been modified; please apply your changes to the latest version and try again")
	}
	return s.commit(key, lease, old.UID)
}

// commit stores a copy as the API server would: with a new version, times cut to microseconds and no monotonic part.
func (s *Store) commit(key types.NamespacedName, lease *coordinationv1.Lease, uid types.UID) (*coordinationv1.Lease, error) {
	if d := lease.Spec.LeaseDurationSeconds; d != nil && *d <= 0 {
		return nil, invalid(lease, field.Invalid(field.NewPath("spec", "leaseDurationSeconds"), *d, "must be greater than 0"))
	}
	stored, err := s.admit(lease)
	if err != nil {
		return nil, err
	}
	s.version++
	stored.UID, stored.ResourceVersion = uid, strconv.Itoa(s.version)
	for _, t := range []*metav1.MicroTime{stored.Spec.AcquireTime, stored.Spec.RenewTime} {
		if t != nil {
			t.Time = t.Truncate(time.Microsecond)
		}
	}
	if s.leases == nil {
		s.leases = map[types.NamespacedName]*coordinationv1.Lease{}
	}
	s.leases[key] = stored
	w := Write{At: time.Now()}
	if stored.Spec.HolderIdentity != nil {
		w.Holder = *stored.Spec.HolderIdentity
	}
	if stored.Spec.LeaseTransitions != nil {
		w.Transitions = int(*stored.Spec.LeaseTransitions)
	}
	s.writes = append(s.writes, w)
	return stored.DeepCopy(), nil
}

// admit is the copy of a Lease that the API server would store, as far as the coordinated election goes.
func (s *Store) admit(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	stored := lease.DeepCopy()
	if !s.Coordinates {
		stored.Spec.Strategy, stored.Spec.PreferredHolder = nil, nil
	}
	if p := stored.Spec.PreferredHolder; p != nil && *p != "" && stored.Spec.Strategy == nil {
		return nil, invalid(lease, field.Forbidden(field.NewPath("spec", "preferredHolder"), "may only be specified if `strategy` is defined"))
	}
	return stored, nil
}

func resource() schema.GroupResource {
	return schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}
}

func conflict(name, why string) error {
	return apierrors.NewConflict(resource(), name, errorText(why))
}

func invalid(lease *coordinationv1.Lease, problem *field.Error) error {
	kind := schema.GroupKind{Group: coordinationv1.GroupName, Kind: "Lease"}
	return apierrors.NewInvalid(kind, lease.Name, field.ErrorList{problem})
}

type errorText string

func (e errorText) Error() string { return string(e) }

var _ client.LeasesGetter = (*Client)(nil)
