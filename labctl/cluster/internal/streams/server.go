// Package streams is the part of a kubelet's API that kubectl uses through the API server: logs, exec, port-forward.
package streams

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"academy.example/lab/labctl/cluster/internal/process"
)

const (
	// idleTime is a kubelet's own: a session without traffic ends after it.
	idleTime = 4 * time.Hour
	// createTime bounds how long a client takes to open its streams.
	createTime = remotecommand.DefaultStreamCreationTimeout
)

// ErrNotFound is returned by a Lookup for a pod or container that is not on this node.
var ErrNotFound = errors.New("not found")

// ErrRefused is wrapped by a Lookup's error about a container that this node does not run; the API server passes its words on.
var ErrRefused = errors.New("refused")

// Target is a container as the streams need it.
type Target struct {
	Pod         string
	Container   string
	ID          string
	IP          string
	Waiting     string          // why it does not run, if it does not
	Log         string          // path of the current or last run's log; "" if it never ran
	PreviousLog string          // path of the log of the run before; "" if there was none
	Running     context.Context // ends with the current run; nil if it does not run
	Exec        process.Spec    // environment and folder for programs run beside it
	Find        func(program string) string
}

// Lookup finds a container, the first of the pod if container is "", with that UID unless uid is "".
type Lookup func(namespace, pod, uid, container string) (*Target, error)

// TLSFiles are paths: the server's certificate and key, and the authority whose clients alone are served.
type TLSFiles struct{ Cert, Key, ClientCA string }

// Server answers the API server's requests.
type Server struct {
	lookup Lookup
	tls    *tls.Config
}

// NewServer reads the files; the error says which cannot be used.
func NewServer(files TLSFiles, lookup Lookup) (*Server, error) {
	cert, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("read serving certificate: %w", err)
	}
	pem, err := os.ReadFile(files.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("read client authority: %w", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read client authority: no certificate in %s", files.ClientCA)
	}
	return &Server{lookup: lookup, tls: &tls.Config{
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS12,
		// The upgrade to SPDY does not exist in HTTP/2.
		NextProtos: []string{"http/1.1"},
	}}, nil
}

// Serve answers on listener until ctx ends, which ends all sessions too.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.routes(),
		TLSConfig:         s.tls,
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(os.Stderr, "kubelet API: ", log.LstdFlags),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve tells how it ended
	return server.ServeTLS(listener, "", "")
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	for _, method := range []string{"GET ", "POST "} {
		mux.HandleFunc(method+"/exec/{namespace}/{pod}/{container}", s.exec)
		mux.HandleFunc(method+"/exec/{namespace}/{pod}/{uid}/{container}", s.exec)
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}", s.portForward)
		mux.HandleFunc(method+"/portForward/{namespace}/{pod}/{uid}", s.portForward)
		mux.HandleFunc(method+"/attach/", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "attach is not available: pods run as local processes without a terminal", http.StatusNotImplemented)
		})
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok")) // the reader may be gone
	})
	return mux
}

// find answers with an error itself if there is no such container.
func (s *Server) find(w http.ResponseWriter, r *http.Request) *Target {
	target, err := s.lookup(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("uid"), r.PathValue("container"))
	if errors.Is(err, ErrNotFound) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return nil
	}
	if errors.Is(err, ErrRefused) {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil
	}
	return target
}

func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	target := s.find(w, r)
	if target == nil {
		return
	}
	command := r.URL.Query()["command"]
	options, err := remotecommand.NewOptions(r)
	if err != nil || len(command) == 0 {
		http.Error(w, fmt.Sprintf("exec needs a command and at least one stream (%v)", err), http.StatusBadRequest)
		return
	}
	if target.Running == nil {
		http.Error(w, fmt.Sprintf("container %s is not running", target.Container), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	// The list is the server's, best first: the client's own would select a protocol that is not served here.
	remotecommand.ServeExec(&watchedWriter{w, cancel}, r.WithContext(ctx), executor{target}, target.Pod, "", target.Container, command, options,
		idleTime, createTime, remotecommand.SupportedStreamingProtocols)
}

func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	target := s.find(w, r)
	if target == nil {
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if target.Running == nil {
		http.Error(w, fmt.Sprintf("pod %s is not running", target.Pod), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{target}, target.Pod, "", options,
		idleTime, createTime, portforward.SupportedProtocols)
}
