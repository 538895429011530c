package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/client-go/kubernetes/scheme"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election/electiontest"
)

// asOperator makes this test binary run as the operator, so that tests can send it signals.
const asOperator = "TEST_AS_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// apiServer serves Leases from memory and nothing else, until it becomes a black hole that takes requests and never answers.
type apiServer struct {
	*httptest.Server
	store *electiontest.Store
	hole  atomic.Bool
	end   chan struct{}
}

func newAPIServer(t *testing.T, store *electiontest.Store) *apiServer {
	s := &apiServer{store: store, end: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { close(s.end); s.CloseClientConnections(); s.Close() })
	return s
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.hole.Load() || !strings.Contains(r.URL.Path, "/leases") {
		<-s.end
		return
	}
	leases, lease := s.store.Client().Leases(api.DefaultNamespace), new(coordinationv1.Lease)
	var err error
	if r.Method != http.MethodGet {
		var body []byte
		if body, err = io.ReadAll(r.Body); err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, lease) // protobuf, as client-go sends it
		}
	}
	switch {
	case err != nil:
	case r.Method == http.MethodPost:
		lease, err = leases.Create(r.Context(), lease, metav1.CreateOptions{})
	case r.Method == http.MethodPut:
		lease, err = leases.Update(r.Context(), lease, metav1.UpdateOptions{})
	default:
		lease, err = leases.Get(r.Context(), path.Base(r.URL.Path), metav1.GetOptions{})
	}
	w.Header().Set("Content-Type", "application/json")
	var answer any = lease
	if err == nil {
		lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
	} else if status, ok := err.(apierrors.APIStatus); ok {
		s := status.Status()
		w.WriteHeader(int(s.Code))
		answer = s
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// operatorProcess is the operator in a process of its own.
type operatorProcess struct {
	*exec.Cmd
	log     electiontest.Lines
	address string
	mu      sync.Mutex
	waiting map[string]chan struct{} // for messages
	read    chan struct{}            // closed at the end of its output
}

func startOperator(t *testing.T, server *apiServer, args ...string) *operatorProcess {
	return startNamed(t, "a", server, args...)
}

func startNamed(t *testing.T, name string, server *apiServer, args ...string) *operatorProcess {
	t.Helper()
	p := &operatorProcess{waiting: map[string]chan struct{}{}, read: make(chan struct{})}
	p.Cmd = exec.Command(os.Args[0], append([]string{"--bind-address=127.0.0.1:0"}, args...)...)
	p.Env = append(os.Environ(), asOperator+"=1", api.EnvPodName+"="+name, "KUBECONFIG="+kubeconfig(t, server.URL))
	p.Stderr = os.Stderr
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	go func() {
		defer close(p.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&p.log, lines.Text())
			var line struct{ Msg, Address string }
			_ = json.Unmarshal(lines.Bytes(), &line)
			p.mu.Lock()
			if line.Msg == api.MessageServing {
				p.address = line.Address
			}
			if c := p.message(line.Msg); c != nil {
				select {
				case <-c:
				default:
					close(c)
				}
			}
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *operatorProcess) message(text string) chan struct{} {
	if p.waiting[text] == nil {
		p.waiting[text] = make(chan struct{})
	}
	return p.waiting[text]
}

// patience is how long a process may take for what it does at once.
const patience = 10 * time.Second

// until waits for a line of the log.
func (p *operatorProcess) until(t *testing.T, message string, limit time.Duration) {
	t.Helper()
	p.mu.Lock()
	c := p.message(message)
	p.mu.Unlock()
	select {
	case <-c:
	case <-time.After(limit):
		t.Fatalf("no line %q within %s in:\n%s", message, limit, p.log.String())
	}
}

// convert calls the webhook once.
func (p *operatorProcess) convert() error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + p.address + "/convert")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// end waits for the end of the process and returns its exit code, or -1 if a signal killed it.
func (p *operatorProcess) end() int {
	<-p.read
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// A leader is asked to stop while the API server takes requests and never answers, at any moment of its renewals. Its
// webhook goes on answering until it drains, and the process ends in time, twenty times of twenty.
func TestReplica_SIGTERMInABlackHoleDrainsAndExits(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twenty processes")
	}
	gate := make(chan struct{}, 10) // how many at once
	var running sync.WaitGroup
	for i := range 20 {
		args, limit := fast, time.Second // of a request
		if i%4 == 0 {
			args, limit = nil, 4*time.Second
		}
		running.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			stopInABlackHole(t, args, limit)
		})
	}
	running.Wait()
}

// fast is the timing 5/3/1.
var fast = []string{"--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=1s"}

func stopInABlackHole(t *testing.T, args []string, limit time.Duration) {
	server := newAPIServer(t, new(electiontest.Store))
	p := startOperator(t, server, args...)
	p.until(t, api.MessageReconcile, patience)
	server.hole.Store(true)
	time.Sleep(rand.N(time.Second))
	asked := time.Now()
	_ = p.Process.Signal(syscall.SIGTERM)
	for time.Since(asked) < acceptPause-100*time.Millisecond {
		if err := p.convert(); err != nil {
			t.Errorf("%s after the signal: %v", time.Since(asked), err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	code, took := p.end(), time.Since(asked)
	if code != api.ExitStopped || took > shutdownLimit || took < acceptPause {
		t.Errorf("got exit code %d after %s, want 0 within %s and not before the webhook was drained", code, took, shutdownLimit)
	}
	if most := limit + acceptPause + 3*time.Second; took > most {
		t.Errorf("took %s, want about %s: the time-out of a request and the pause", took, limit+acceptPause)
	}
	if p.log.Count(api.MessageReleaseFailed) != 1 || p.log.Count(api.MessageDraining) != 1 {
		t.Errorf("got:\n%s", p.log.String())
	}
	t.Logf("ended %s after the signal", took.Round(time.Millisecond))
}

func TestReplica_SIGTERMReleasesAndExits(t *testing.T) {
	server := newAPIServer(t, new(electiontest.Store))
	p := startOperator(t, server)
	p.until(t, api.MessageReconcile, patience)
	_ = p.Process.Signal(syscall.SIGTERM)
	if code := p.end(); code != api.ExitStopped {
		t.Errorf("got exit code %d, want 0", code)
	}
	if holder := *server.store.Lease(api.DefaultNamespace, api.DefaultName).Spec.HolderIdentity; holder != "" {
		t.Errorf("got holder %q, want none:\n%s", holder, p.log.String())
	}
}

// The lease is lost: with exit the process ends, with rejoin it answers throughout and leads again.
func TestReplica_OnLoss(t *testing.T) {
	steal := func(t *testing.T, server *apiServer) {
		leases := server.store.Client().Leases(api.DefaultNamespace)
		for {
			lease, err := leases.Get(t.Context(), api.DefaultName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("thief"), new(int32(1))
			*lease.Spec.LeaseTransitions++
			if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err == nil {
				return
			}
		}
	}
	t.Run(api.OnLossExit, func(t *testing.T) {
		t.Parallel()
		server := newAPIServer(t, new(electiontest.Store))
		p := startOperator(t, server, fast...)
		p.until(t, api.MessageReconcile, patience)
		steal(t, server)
		if code := p.end(); code != api.ExitLost {
			t.Errorf("got exit code %d, want %d", code, api.ExitLost)
		}
	})
	t.Run(api.OnLossRejoin, func(t *testing.T) {
		t.Parallel()
		server := newAPIServer(t, new(electiontest.Store))
		p := startOperator(t, server, append([]string{"--on-loss=rejoin"}, fast...)...)
		p.until(t, api.MessageReconcile, patience)
		steal(t, server)
		p.until(t, api.MessageRejoining, patience)
		for p.log.Count(api.MessageStartedLead) < 2 {
			if err := p.convert(); err != nil {
				t.Errorf("the webhook failed: %v", err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := *server.store.Lease(api.DefaultNamespace, api.DefaultName).Spec.LeaseTransitions; n != 2 {
			t.Errorf("got %d transitions, want 2: to the thief and back", n)
		}
		_ = p.Process.Signal(syscall.SIGTERM)
		if code := p.end(); code != api.ExitStopped {
			t.Errorf("got exit code %d, want 0", code)
		}
	})
}

// A signal that comes as soon as the replica can be called at all is handled like any other.
func TestReplica_ASignalDuringStartIsNotLost(t *testing.T) {
	p := startOperator(t, newAPIServer(t, new(electiontest.Store)))
	p.until(t, api.MessageServing, patience)
	_ = p.Process.Signal(syscall.SIGTERM)
	if code := p.end(); code != api.ExitStopped || p.log.Count(api.MessageSignal) != 1 {
		t.Errorf("got exit code %d, want 0:\n%s", code, p.log.String())
	}
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	begin, _ := file.Scope.Lookup("main").Decl.(*ast.FuncDecl).Body.List[0].(*ast.AssignStmt)
	call, _ := begin.Rhs[0].(*ast.CallExpr)
	if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "NotifyContext" {
		t.Error("main does something before it asks for signals")
	}
}
