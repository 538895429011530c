package readmission_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// server keeps objects as the API server does as far as these tests need it: by path, with versions, and a stale one is
// refused. How it is with a real one is for the end-to-end test.
type server struct {
	mu      sync.Mutex
	version int
	objects map[string]map[string]any // by path
	refuse  map[string]int            // HTTP status by resource
	writes  int
	// beforeWrite is called once, before a write is looked at, and afterWrite after each.
	beforeWrite func()
	afterWrite  func(path string)
}

func newServer(t *testing.T) (*server, dynamic.Interface) {
	s := &server{objects: map[string]map[string]any{}, refuse: map[string]int{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: h.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s, client
}

// put stores an object without asking.
func (s *server) put(path string, object map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(path, object)
}

func (s *server) store(path string, object map[string]any) {
	s.version++
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	meta["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = object
}

func versionOf(object map[string]any) any {
	return object["metadata"].(map[string]any)["resourceVersion"]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		if once := s.beforeWrite; once != nil {
			s.beforeWrite = nil
			once()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path, _ := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/apis/kueue.x-k8s.io/v1beta2/"), "/status")
	for resource, code := range s.refuse {
		if strings.Contains(path, resource) {
			fail(w, code)
			return
		}
	}
	old, exists := s.objects[path]
	if r.Method == http.MethodGet {
		s.read(w, path, old, exists)
		return
	}
	s.writes++
	var sent map[string]any
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		fail(w, http.StatusBadRequest)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		s.store(path+"/"+sent["metadata"].(map[string]any)["name"].(string), sent)
	case !exists:
		fail(w, http.StatusNotFound)
		return
	case versionOf(sent) == nil: // as of every custom resource: no update without a version
		fail(w, http.StatusUnprocessableEntity)
		return
	case versionOf(sent) != versionOf(old):
		fail(w, http.StatusConflict)
		return
	default:
		s.store(path, sent)
	}
	_ = json.NewEncoder(w).Encode(sent)
	if s.afterWrite != nil {
		s.afterWrite(path)
	}
}

func (s *server) read(w http.ResponseWriter, path string, object map[string]any, exists bool) {
	if exists {
		_ = json.NewEncoder(w).Encode(object)
		return
	}
	if !strings.HasSuffix(path, "workloads") {
		fail(w, http.StatusNotFound)
		return
	}
	items := []any{}
	for at, o := range s.objects {
		if strings.HasPrefix(at, path+"/") {
			items = append(items, o)
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList", "items": items})
}

// fail answers with a Status, as the API server does.
func fail(w http.ResponseWriter, code int) {
	reasons := map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code], Message: http.StatusText(code)})
}

// paths are where objects are stored, sorted.
func (s *server) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for path := range s.objects {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}
