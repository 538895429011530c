package streams

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"academy.example/lab/labctl/cluster/internal/process"
	"academy.example/lab/labctl/cluster/internal/relay"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate for 127.0.0.1 and its key.
func (a *authority) issue(t *testing.T, usage x509.ExtKeyUsage) (cert, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: "test"},
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// site is a running server with one container, "main" of pod "subject" in "space".
type site struct {
	url     string
	config  *rest.Config // of a client that is served
	serving *authority
	target  *Target
	end     context.CancelFunc // of the container's run
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	serving, clients := newAuthority(t), newAuthority(t)
	cert, key := serving.issue(t, x509.ExtKeyUsageServerAuth)
	files := TLSFiles{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt")}
	for path, data := range map[string][]byte{files.Cert: cert, files.Key: key, files.ClientCA: clients.pem} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running, end := context.WithCancel(t.Context())
	s := &site{serving: serving, end: end, target: &Target{
		Pod: "subject", Container: "main", ID: "process://1", IP: "127.0.0.1", Waiting: "ContainerCreating", Running: running,
		Exec: process.Spec{Env: []string{"WORD=sesame", "PATH=/usr/bin:/bin"}, Dir: dir},
		Find: func(name string) string { return "/bin/" + name },
	}}
	server, err := NewServer(files, func(namespace, pod, uid, container string) (*Target, error) {
		if namespace != "space" || pod != "subject" || uid != "" && uid != "1" || container != "" && container != "main" {
			return nil, fmt.Errorf("%w: %s/%s", ErrNotFound, namespace, pod)
		}
		target := *s.target
		if running.Err() != nil {
			target.Running = nil
		}
		return &target, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		<-served
	})
	s.url = "https://" + listener.Addr().String()
	clientCert, clientKey := clients.issue(t, x509.ExtKeyUsageClientAuth)
	s.config = &rest.Config{Host: s.url, TLSClientConfig: rest.TLSClientConfig{CAData: serving.pem, CertData: clientCert, KeyData: clientKey}}
	return s
}

func (s *site) client(t *testing.T) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(s.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestOnlyTheAPIServerIsServed(t *testing.T) {
	s := newSite(t)
	roots := x509.NewCertPool()
	roots.AddCert(s.serving.cert)
	stranger, strangerKey := s.serving.issue(t, x509.ExtKeyUsageClientAuth) // of the authority that all others in a cluster have
	pair, err := tls.X509KeyPair(stranger, strangerKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"anonymous": nil, "other authority": {pair}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certificates}}}
		if response, err := client.Get(s.url + "/healthz"); err == nil {
			t.Errorf("%s is served: %s", name, response.Status)
		}
	}
	response, err := s.client(t).Get(s.url + "/healthz")
	if err != nil || response.StatusCode != http.StatusOK || response.ProtoMajor != 1 {
		t.Errorf("the API server is not served: %+v, %v", response, err)
	}
}

func TestRequests(t *testing.T) {
	s := newSite(t)
	client := s.client(t)
	for path, want := range map[string]int{
		"/containerLogs/space/other/main":                  http.StatusNotFound,
		"/containerLogs/space/subject/other":               http.StatusNotFound,
		"/containerLogs/space/subject/main":                http.StatusBadRequest, // never ran
		"/containerLogs/space/subject/main?previous=true":  http.StatusBadRequest,
		"/containerLogs/space/subject/main?tailLines=x":    http.StatusBadRequest,
		"/exec/space/subject/main?output=1":                http.StatusBadRequest, // no command
		"/exec/space/subject/main?command=true":            http.StatusBadRequest, // no stream
		"/exec/space/subject/2/main?command=true&output=1": http.StatusNotFound,   // another UID
		"/attach/space/subject/main":                       http.StatusNotImplemented,
		"/runningpods/":                                    http.StatusNotFound,
	} {
		response, err := client.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET %s = %d, want %d", path, response.StatusCode, want)
		}
	}
}

func (s *site) exec(t *testing.T, in io.Reader, out, errOut io.Writer, command ...string) error {
	t.Helper()
	query := url.Values{"command": command, "output": {"1"}, "error": {"1"}}
	if in != nil {
		query.Set("input", "1")
	}
	target, err := url.Parse(s.url + "/exec/space/subject/main?" + query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(s.config, http.MethodPost, target)
	if err != nil {
		t.Fatal(err)
	}
	return executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: errOut})
}

func TestExec(t *testing.T) {
	s := newSite(t)
	tests := map[string]struct {
		command     []string
		in          string
		out, errOut string
		code        int
	}{
		"output":      {command: []string{"sh", "-c", "echo out; echo err >&2"}, out: "out\n", errOut: "err\n"},
		"code":        {command: []string{"sh", "-c", "exit 7"}, code: 7},
		"signal":      {command: []string{"sh", "-c", "kill -9 $$"}, code: 137},
		"environment": {command: []string{"sh", "-c", "echo $WORD"}, out: "sesame\n"},
		"input":       {command: []string{"cat"}, in: "hello", out: "hello"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			var in io.Reader
			if test.in != "" {
				in = strings.NewReader(test.in)
			}
			err := s.exec(t, in, &out, &errOut, test.command...)
			code := 0
			if exit := (utilexec.CodeExitError{}); errors.As(err, &exit) {
				code = exit.Code
			} else if err != nil {
				t.Fatal(err)
			}
			if code != test.code || out.String() != test.out || errOut.String() != test.errOut {
				t.Errorf("code %d, output %q, errors %q", code, out.String(), errOut.String())
			}
		})
	}
	if err := s.exec(t, nil, io.Discard, io.Discard, "no-such-program"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("unknown program: %v", err)
	}
}

func TestExecEndsWithTheContainer(t *testing.T) {
	s := newSite(t)
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.exec(t, nil, w, io.Discard, "sh", "-c", "echo on; exec sleep 1000") }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "on\n" {
		t.Fatalf("output %q, %v", line, err)
	}
	s.end()
	if exit := (utilexec.CodeExitError{}); !errors.As(<-ended, &exit) || exit.Code != 137 {
		t.Errorf("session ended with %d, want 137", exit.Code)
	}
}

func TestExecEndsWithTheClient(t *testing.T) {
	s := newSite(t)
	cable, err := relay.Listen(strings.TrimPrefix(s.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	s.url = fmt.Sprintf("https://127.0.0.1:%d", cable.Port())
	out, w := io.Pipe()
	go func() { _ = s.exec(t, nil, w, io.Discard, "sh", "-c", "echo $$; exec sleep 1000") }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	cable.Close() // as when the client's process dies
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); syscall.Kill(pid, 0) == nil; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the program outlives the client")
		}
	}
}

func TestPortForward(t *testing.T) {
	s := newSite(t)
	backend, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	go func() {
		_ = http.Serve(backend, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	}()
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(s.url + "/portForward/space/subject")
	if err != nil {
		t.Fatal(err)
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	stop, ready := make(chan struct{}), make(chan struct{})
	port := backend.Addr().(*net.TCPAddr).Port
	forward, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forward.ForwardPorts() }()
	<-ready
	ports, err := forward.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 2 {
		response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(response.Body); err != nil || string(data) != "hello" {
			t.Errorf("answer %q, %v", data, err)
		}
		_ = response.Body.Close()
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
