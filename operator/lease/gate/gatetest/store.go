// Package gatetest is an API server in memory for tests of the gate: Leases, Jobs and whatever else is put in, behind a transport
// for client-go. It refuses what the API server refuses: a name that is taken, a stale version, an update without one, preconditions
// that do not hold, labels that are too long.
package gatetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Store is what is stored. The zero value is empty.
type Store struct {
	mu      sync.Mutex
	version int
	objects map[key]object
	fault   func(Request) *Fault
	hook    func(Request)
	log     []Request
}

type key struct{ resource, namespace, name string }

// object is an object of any kind, as JSON has it.
type object = map[string]any

// Request is one request.
type Request struct {
	Method, Resource, Name string // Name is of the object sent or asked for; "" of a list
	Status                 bool   // of the status alone
	// Version is the version that a read would be satisfied with; "" asks for what is stored now.
	Version string
}

// String is the request in short.
func (r Request) String() string {
	if r.Name == "" {
		return r.Method + " " + r.Resource
	}
	return r.Method + " " + r.Resource + "/" + r.Name
}

// Fault is what happens to a request instead of its answer.
type Fault struct {
	// Code is answered, with Reason in the status; 0 is no answer at all: Err comes from the transport.
	Code   int
	Reason string
	Err    error
	// Done is whether the request is carried out all the same.
	Done bool
}

// Fail sets what happens to requests from now on; f returns nil for one that is answered. nil ends it.
func (s *Store) Fail(f func(Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Before sets what is done before each request is carried out, outside of the store's lock: another writer, for instance.
func (s *Store) Before(f func(Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Requests returns all requests since the last call.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// Config is a client's configuration for the store.
func (s *Store) Config() *rest.Config {
	return &rest.Config{Host: "http://store.invalid", QPS: -1, Transport: s,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"}}
}

// Put stores an object as it is, whatever was there.
func (s *Store) Put(resource string, o any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := toObject(o)
	meta := metadata(stored)
	k := key{resource, word(meta["namespace"]), word(meta["name"])}
	uid := ""
	if old, exists := s.objects[k]; exists {
		uid = word(metadata(old)["uid"])
	}
	s.commit(k, stored, uid)
}

// Read reads an object into one of its type, and reports whether there is one.
func (s *Store) Read(resource, namespace, name string, into any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, exists := s.objects[key{resource, namespace, name}]
	if exists {
		fromObject(found, into)
	}
	return exists
}

// Names lists the names of a resource's objects, in no order.
func (s *Store) Names(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for k := range s.objects {
		if k.resource == resource {
			names = append(names, k.name)
		}
	}
	return names
}

// Remove deletes an object.
func (s *Store) Remove(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key{resource, namespace, name})
}

// commit stores an object under a new version; one without a UID gets one.
func (s *Store) commit(k key, o object, uid string) object {
	if s.objects == nil {
		s.objects = map[key]object{}
	}
	s.version++
	meta := metadata(o)
	if uid == "" {
		uid = "uid-" + strconv.Itoa(s.version)
	}
	meta["uid"], meta["resourceVersion"], meta["namespace"], meta["name"] = uid, strconv.Itoa(s.version), k.namespace, k.name
	s.objects[k] = o
	return o
}

// check is what the API server says of an object's content; "" is nothing.
func check(resource string, o object) string {
	labels, _ := metadata(o)["labels"].(map[string]any)
	for name, value := range labels {
		if len(word(value)) > 63 {
			return fmt.Sprintf("metadata.labels: %s: must be no more than 63 bytes", name)
		}
	}
	if resource != "leases" {
		return ""
	}
	var lease coordinationv1.Lease
	fromObject(o, &lease)
	if d := lease.Spec.LeaseDurationSeconds; d != nil && *d <= 0 {
		return "spec.leaseDurationSeconds: must be greater than 0"
	}
	return ""
}

func metadata(o object) map[string]any {
	meta, _ := o["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		o["metadata"] = meta
	}
	return meta
}

func word(v any) string {
	s, _ := v.(string)
	return s
}

func toObject(v any) object {
	data, err := json.Marshal(v)
	o := object{}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		panic(err)
	}
	return o
}

func fromObject(o object, into any) {
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(err)
	}
}

func resourceOf(name string) schema.GroupResource { return schema.GroupResource{Resource: name} }

var _ http.RoundTripper = (*Store)(nil)
