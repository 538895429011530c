package cmd

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// secretsStay looks for the lab's keys and tokens wherever they have no business: logs, runs, reports, and the pods, each of
// which has its own token and nothing else.
func secretsStay(t *testing.T, w *world) {
	if len(w.runsRecorded()) == 0 {
		w.must("labctl", "failover", "--timing", "fast")
	}
	lab := w.files()
	keys := keysOf(t, lab.pki)
	tokens, err := filepath.Glob(filepath.Join(lab.state, "pods/*/serviceaccount/token"))
	if err != nil || len(tokens) != 2 {
		t.Fatalf("%d tokens, %v; want two", len(tokens), err)
	}
	all := map[string]string{}
	for name, key := range keys {
		all[name] = key
		if len(found(t, map[string]string{name: key}, lab.pki)) == 0 {
			t.Errorf("the search does not find %s where it is", name)
		}
	}
	for _, file := range tokens {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(data[bytes.LastIndexByte(data, '.')+1:]) // a token without its signature opens nothing
		if where := found(t, keys, filepath.Dir(filepath.Dir(file))); len(where) > 0 {
			t.Errorf("a pod has more than its token: %v", where)
		}
		boundAndShort(t, data)
	}
	said := filepath.Join(t.TempDir(), "said")
	if err := os.Mkdir(said, 0o700); err != nil {
		t.Fatal(err)
	}
	for n, args := range []string{"status --json", "doctor --json", "env", "report --format html", "report --format md", "report --format json", "kubeconfig"} {
		r := w.run(time.Minute, "labctl", strings.Fields(args)...)
		if err := os.WriteFile(filepath.Join(said, fmt.Sprint(n)), []byte(r.out+r.err), 0o600); err != nil || r.code > ExitFail || r.out == "" {
			t.Fatalf("labctl %s: exit code %d, %v:\n%s", args, r.code, err, r.err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(lab.state, "pods/*/operator/*.log"))
	if err != nil || len(logs) < 2 {
		t.Fatalf("%d logs of replicas, %v", len(logs), err)
	}
	for _, place := range append(logs, filepath.Join(lab.state, "log"), filepath.Join(lab.state, "cluster.log"), lab.runs, said) {
		if where := found(t, all, place); len(where) > 0 {
			t.Errorf("secrets in %v", where)
		}
	}
	for _, pid := range w.pidNumbers() {
		if where := found(t, all, fmt.Sprintf("/proc/%d/cmdline", pid), fmt.Sprintf("/proc/%d/environ", pid)); len(where) > 0 {
			t.Errorf("secrets in %v", where)
		}
	}
	runsAreNameless(t, w, lab.runs)
	endedPodsTokenIsRefused(t, w, lab, tokens)
}

// runsAreNameless looks in the folders of runs for who recorded them, on what machine, and where.
func runsAreNameless(t *testing.T, w *world, runs string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(^|[^\w-])(` + regexp.QuoteMeta(host) + `|` + regexp.QuoteMeta(me.Username) + `)([^\w-]|$)|` + regexp.QuoteMeta(w.dir))
	if !names.MatchString(" "+me.Username+" ") || !names.MatchString("/x"+w.dir) {
		t.Fatal("the search finds nothing at all")
	}
	n := 0
	err = filepath.WalkDir(runs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if at := names.FindIndex(data); at != nil {
			t.Errorf("%s tells who made the run: %.120s", path, data[max(0, at[0]-40):])
		}
		n++
		return err
	})
	if err != nil || n < 4 {
		t.Errorf("%d files of runs were read, %v", n, err)
	}
}

// keysOf is a telling part of each private key, by its file's name: its first whole line, and how a kubeconfig holds it.
func keysOf(t *testing.T, pki string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pki, "*.key"))
	if err != nil || len(files) != 9 {
		t.Fatalf("%d keys in %s, %v; want 9", len(files), pki, err)
	}
	keys := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		keys[filepath.Base(file)] = lines[len(lines)-3] // the last lines differ most: key, END, nothing
		if name := filepath.Base(file); name == "controllers.key" || name == "node-client.key" {
			keys[name+" in a kubeconfig"] = base64.StdEncoding.EncodeToString(data)
		}
	}
	return keys
}

// found lists where, below the places, any of the secrets is. A file that has gone meanwhile holds nothing.
func found(t *testing.T, secrets map[string]string, places ...string) []string {
	t.Helper()
	var where []string
	for _, place := range places {
		err := filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			for name, secret := range secrets {
				if bytes.Contains(data, []byte(secret)) {
					where = append(where, name+" in "+path)
				}
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return where
}

// boundAndShort reads a token's claims: it is of one pod, and ends by itself soon.
func boundAndShort(t *testing.T, token []byte) {
	t.Helper()
	var claims struct {
		Issued     int64 `json:"iat"`
		Expires    int64 `json:"exp"`
		Kubernetes struct {
			Pod            struct{ Name, UID string }
			ServiceAccount struct{ Name string }
		} `json:"kubernetes.io"`
	}
	payload, err := base64.RawURLEncoding.DecodeString(string(bytes.Split(token, []byte("."))[1]))
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	life := time.Duration(claims.Expires-claims.Issued) * time.Second
	if claims.Kubernetes.Pod.UID == "" || claims.Kubernetes.ServiceAccount.Name != "academy-operator" || life <= 0 || life > 70*time.Minute {
		t.Errorf("a pod's token lives %s and is bound to %+v, want an hour and the pod", life, claims.Kubernetes)
	}
}

// endedPodsTokenIsRefused deletes a pod and asks with the token that it had. The API server remembers a good token for 10 s.
func endedPodsTokenIsRefused(t *testing.T, w *world, lab labFiles, tokens []string) {
	t.Helper()
	ask := func(token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, lab.server+"/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		return status(t, request)
	}
	token, err := os.ReadFile(tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	if code := ask(string(token)); code != http.StatusOK {
		t.Fatalf("a live pod's token: status %d, want 200", code)
	}
	w.kubectl("delete", "pods", "-l", "app=academy-operator")
	w.must("labctl", "up")
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(200 * time.Millisecond) {
		code := ask(string(token))
		if code == http.StatusUnauthorized {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("20 s after its pod has gone a token still gets status %d, want 401", code)
		}
	}
}

func status(t *testing.T, request *http.Request) int {
	t.Helper()
	client := &http.Client{Transport: insecure(), Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
