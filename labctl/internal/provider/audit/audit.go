// Package audit reads the API server's audit log of the requests on Leases. Every provider keeps one by the same policy.
package audit

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// Policy asks for one line for each finished request on a Lease object but watches and lists. The embedded cluster, a
// module of its own, has the same text; a test compares them.
const Policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: None
    namespaces: [kube-system, kube-node-lease]
  - level: Metadata
    verbs: [get, create, update, patch, delete]
    resources: [{group: coordination.k8s.io, resources: [leases]}]
  - level: None
`

// event is the part of an audit.k8s.io/v1 Event that is read.
type event struct {
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	User  struct {
		Extra map[string][]string `json:"extra"`
	} `json:"user"`
	ObjectRef struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
	Staged   time.Time `json:"stageTimestamp"`
}

// The API server adds these to a user that came with a token bound to a pod.
const (
	extraPod    = "authentication.kubernetes.io/pod-name"
	extraPodUID = "authentication.kubernetes.io/pod-uid"
)

func (e event) request() provider.LeaseRequest {
	one := func(key string) string {
		if values := e.User.Extra[key]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	return provider.LeaseRequest{Namespace: e.ObjectRef.Namespace, Lease: e.ObjectRef.Name, Verb: e.Verb, Code: e.ResponseStatus.Code,
		Pod: one(extraPod), PodUID: one(extraPodUID), Received: e.Received, Answered: e.Staged}
}

// Parse reads a line of the log. finished is whether it tells the end of a request.
func Parse(line []byte) (r provider.LeaseRequest, finished bool, err error) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		return r, false, fmt.Errorf("read the audit log: %w", err)
	}
	finished = e.Stage == "ResponseComplete" || e.ResponseStatus.Code == http.StatusUnauthorized // which has no later stage
	return e.request(), finished, nil
}
