package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"academy.example/lab/operator/api"
)

// forbiddenPause is how long the same refusal stays unmentioned after it was told, so that a tick every 100 ms does not
// bury the log.
const forbiddenPause = time.Second

// tellForbidden returns a wrapper of transports that logs each 403 with the verb to add. Without it a missing verb shows
// only as an election that never ends, or as a list of work that stays empty.
func tellForbidden(log *slog.Logger) func(http.RoundTripper) http.RoundTripper {
	told := &toldAt{at: map[string]time.Time{}}
	return func(next http.RoundTripper) http.RoundTripper {
		return &forbiddenTeller{next: next, log: log, told: told}
	}
}

type forbiddenTeller struct {
	next http.RoundTripper
	log  *slog.Logger
	told *toldAt
}

// toldAt remembers when each refusal was last told.
type toldAt struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (t *toldAt) again(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.at[what]; ok && time.Since(last) < forbiddenPause {
		return false
	}
	t.at[what] = time.Now()
	return true
}

// RoundTrip sends the request and tells of a 403; request and answer go through unchanged.
func (f *forbiddenTeller) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := f.next.RoundTrip(r)
	if err != nil || answer.StatusCode != http.StatusForbidden {
		return answer, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), answer.Body), answer.Body}
	if err == nil {
		f.tell(r, string(body))
	}
	return answer, nil
}

// In both encodings of a Status, JSON (with its quotes escaped) and protobuf, RBAC's sentence stands in plain letters.
func refusedUser(body string) string {
	if m := regexp.MustCompile(`User \\?"([^"\\]+)\\?" cannot `).FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return ""
}

func (f *forbiddenTeller) tell(r *http.Request, body string) {
	c := callOf(r)
	user := refusedUser(body)
	if !f.told.again(c.verb + " " + c.resource + " " + user) {
		return
	}
	args := []any{api.KeyVerb, c.verb, api.KeyResource, c.resource, api.KeyNamespace, c.namespace}
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		args = append(args, api.KeyServiceAccount, strings.Replace(account, ":", "/", 1))
	} else if user != "" {
		args = append(args, "user", user)
	}
	if user != "" { // RBAC said it; an admission policy refuses with other words, and no Role helps against it
		args = append(args, api.KeyHint, fmt.Sprintf("add %s to %s in Role %s (%s)", c.verb, c.resource, api.DefaultName, api.RoleFile))
	} else {
		args = append(args, api.KeyReason, printable(body))
	}
	f.log.Error(api.MessageForbidden, args...)
}

// printable cuts an answer to what is worth a log line.
func printable(body string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == '\uFFFD' {
			return -1
		}
		return r
	}, body)
	const most = 512
	return strings.ToValidUTF8(clean[:min(len(clean), most)], "")
}

// call is a request as RBAC sees it.
type call struct{ verb, resource, namespace string }

// callOf reads verb, resource and namespace from method and path, as the API server does:
// /api/v1/namespaces/NS/RESOURCE/NAME[/SUB] and /apis/GROUP/VERSION/….
func callOf(r *http.Request) call {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	for len(parts) > 0 && parts[0] != "api" && parts[0] != "apis" {
		parts = parts[1:] // a proxy may have put something in front
	}
	switch {
	case len(parts) >= 3 && parts[0] == "apis":
		group, parts = "."+parts[1], parts[3:]
	case len(parts) >= 2 && parts[0] == "api":
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return call{verb: strings.ToLower(r.Method), resource: r.URL.Path}
	}
	var c call
	if len(parts) >= 3 && parts[0] == "namespaces" {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.resource = parts[0] + group
	if len(parts) >= 3 {
		c.resource = parts[0] + "/" + parts[2] + group
	}
	c.verb = verb(r, len(parts) >= 2)
	return c
}

func verb(r *http.Request, named bool) string {
	watches := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && (watches == "true" || watches == "1"):
		return "watch"
	case r.Method == http.MethodGet && !named:
		return "list"
	case r.Method == http.MethodGet:
		return "get"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
	case r.Method == http.MethodDelete && !named:
		return "deletecollection"
	}
	return strings.ToLower(r.Method)
}
