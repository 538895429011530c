package gatetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// RoundTrip answers one request.
func (s *Store) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = data
	}
	k, status := parse(r.URL.Path)
	asked := Request{Method: r.Method, Resource: k.resource, Name: k.name, Status: status, Version: r.URL.Query().Get("resourceVersion")}
	if r.Method == http.MethodPost {
		var sent struct{ Metadata struct{ Name string } }
		_ = json.Unmarshal(body, &sent) // refused below if it is nothing
		k.name, asked.Name = sent.Metadata.Name, sent.Metadata.Name
	}
	s.mu.Lock()
	s.log = append(s.log, asked)
	fault, hook := s.fault, s.hook
	s.mu.Unlock()
	if hook != nil {
		hook(asked)
	}
	if fault != nil {
		if f := fault(asked); f != nil {
			return s.fail(r, f, k, status, body)
		}
	}
	answer, err := s.carryOut(r, k, status, body)
	return respond(r, answer, err), nil
}

// fail answers with a fault.
func (s *Store) fail(r *http.Request, f *Fault, k key, status bool, body []byte) (*http.Response, error) {
	if f.Done {
		_, _ = s.carryOut(r, k, status, body) // the answer is what gets lost
	}
	if f.Code == 0 {
		return nil, f.Err
	}
	said := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: int32(f.Code), Reason: metav1.StatusReason(f.Reason), Message: "injected"}
	return respond(r, nil, &apierrors.StatusError{ErrStatus: said}), nil
}

// parse reads /api/v1/namespaces/N/RESOURCE[/NAME[/status]], and the same below /apis/GROUP/VERSION.
func parse(path string) (k key, status bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	i := slices.Index(parts, "namespaces")
	if i < 0 || i+2 >= len(parts) {
		return k, false
	}
	k.namespace, k.resource = parts[i+1], parts[i+2]
	if len(parts) > i+3 {
		k.name = parts[i+3]
	}
	return k, len(parts) > i+4
}

func (s *Store) carryOut(r *http.Request, k key, status bool, body []byte) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && k.name == "":
		return s.list(k, r)
	case r.Method == http.MethodGet:
		if o, exists := s.objects[k]; exists {
			return o, nil
		}
		return nil, apierrors.NewNotFound(resourceOf(k.resource), k.name)
	case r.Method == http.MethodPost:
		return s.create(k, body)
	case r.Method == http.MethodPut:
		return s.update(k, status, body)
	case r.Method == http.MethodDelete:
		return s.delete(k, body)
	default:
		return nil, apierrors.NewMethodNotSupported(resourceOf(k.resource), r.Method)
	}
}

// kinds is what lists are called; those of custom resources may be called anything.
var kinds = map[string]string{"leases": "LeaseList", "jobs": "JobList"}

func (s *Store) list(k key, r *http.Request) (any, error) {
	wanted, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	items := []object{}
	for at, o := range s.objects {
		set := labels.Set{}
		has, _ := metadata(o)["labels"].(map[string]any)
		for name, value := range has {
			set[name] = word(value)
		}
		if at.resource == k.resource && at.namespace == k.namespace && wanted.Matches(set) {
			items = append(items, o)
		}
	}
	slices.SortFunc(items, func(a, b object) int { return strings.Compare(word(metadata(a)["name"]), word(metadata(b)["name"])) })
	version, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/"), "/namespaces/")
	return object{"kind": cmp.Or(kinds[k.resource], "List"), "apiVersion": version, "metadata": object{}, "items": items}, nil
}

func (s *Store) create(k key, body []byte) (any, error) {
	o := object{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if word(metadata(o)["resourceVersion"]) != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if _, exists := s.objects[k]; exists {
		return nil, apierrors.NewAlreadyExists(resourceOf(k.resource), k.name)
	}
	if wrong := check(k.resource, o); wrong != "" {
		return nil, invalid(wrong)
	}
	return s.commit(k, o, ""), nil
}

func (s *Store) update(k key, status bool, body []byte) (any, error) {
	o := object{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	meta := metadata(o)
	old, exists := s.objects[k]
	uid, version := word(meta["uid"]), word(meta["resourceVersion"])
	switch {
	case version == "":
		return nil, invalid("metadata.resourceVersion: must be specified for an update")
	case !exists && uid != "":
		return nil, conflict(k, "the UID in the precondition belongs to no object")
	case !exists:
		return nil, apierrors.NewNotFound(resourceOf(k.resource), k.name)
	case uid != "" && uid != metadata(old)["uid"], version != metadata(old)["resourceVersion"]:
		return nil, conflict(k, "the object has been modified")
	}
	if wrong := check(k.resource, o); wrong != "" {
		return nil, invalid(wrong)
	}
	if status {
		next := toObject(old)
		next["status"] = o["status"]
		o = next
	}
	stored := s.commit(k, o, word(metadata(old)["uid"]))
	finalizers, _ := metadata(stored)["finalizers"].([]any)
	if word(metadata(stored)["deletionTimestamp"]) != "" && len(finalizers) == 0 {
		delete(s.objects, k)
	}
	return stored, nil
}

func (s *Store) delete(k key, body []byte) (any, error) {
	old, exists := s.objects[k]
	if !exists {
		return nil, apierrors.NewNotFound(resourceOf(k.resource), k.name)
	}
	var options metav1.DeleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && string(*p.UID) != metadata(old)["uid"] || p.ResourceVersion != nil && *p.ResourceVersion != metadata(old)["resourceVersion"] {
			return nil, conflict(k, "the precondition does not hold")
		}
	}
	delete(s.objects, k)
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Success"}, nil
}

func conflict(k key, why string) error {
	return apierrors.NewConflict(resourceOf(k.resource), k.name, errors.New(why))
}

func invalid(why string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: why}}
}

func respond(r *http.Request, answer any, err error) *http.Response {
	code := http.StatusOK
	var refused *apierrors.StatusError
	if errors.As(err, &refused) {
		code = int(refused.ErrStatus.Code)
		said := refused.ErrStatus
		said.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer = said
	}
	data, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}
