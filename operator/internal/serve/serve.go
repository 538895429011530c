// Package serve is what every replica answers, leader or not: probes, metrics, a stand-in for a webhook, and the switch
// that ends the process without a release.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"academy.example/lab/operator/api"
)

// shutdownTimeout bounds the wait for answers under way, so that it can never eat up a pod's grace period.
const shutdownTimeout = 2 * time.Second

// Config says where to listen and whom to ask. All fields are required.
type Config struct {
	Address  string // host:port
	Identity string // named in answers, so that a student sees which replica spoke

	// Leading, Objects and Alive are asked at each request. Alive returns nil while the process is healthy.
	Leading func() bool
	Objects func() int
	Alive   func() error

	Log *slog.Logger
}

// Server answers until Shutdown.
type Server struct{ http http.Server }

// Start listens and answers in the background. An address in use is an api.Problem that says what to type.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Address)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, api.Problem{
			What: fmt.Sprintf("listen on %s: %v", cfg.Address, errors.Unwrap(err)),
			Hint: fmt.Sprintf("another process has it, or this host does not: --%s=127.0.0.1:0 takes any free port", api.FlagBindAddress),
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Address, err)
	}
	s := &Server{http: http.Server{Handler: Handler(cfg), ReadHeaderTimeout: 5 * time.Second}}
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			cfg.Log.Error(api.MessageServing, api.KeyError, err.Error())
		}
	}()
	cfg.Log.Info(api.MessageServing, api.KeyAddress, listener.Addr().String())
	return s, nil
}

// Shutdown lets answers under way finish, for two seconds at most.
func (s *Server) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // the process ends next; there is nobody to tell
	}
}

// Drain goes on answering everybody for a while, because Kubernetes takes a pod out of a Service's endpoints only some time
// after it asked the pod to stop; then it takes no more calls and lets those under way finish, for limit at most.
func (s *Server) Drain(accept, limit time.Duration) {
	time.Sleep(accept)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// Handler returns the four endpoints.
func Handler(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics(cfg))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := cfg.Alive(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	// A replica is ready when it can answer. Were readiness to wait for the lease, a rolling update would stall: the new
	// pod cannot lead while the old one does, and the old one stays until the new one is ready.
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/convert", func(w http.ResponseWriter, _ *http.Request) { convert(w, cfg) })
	return mux
}

// convert stands for a webhook that the API server calls at any replica: leading must make no difference to it.
func convert(w http.ResponseWriter, cfg Config) {
	w.Header().Set("Content-Type", "application/json")
	answer := struct {
		Identity string `json:"identity"`
		Leading  bool   `json:"leading"`
	}{cfg.Identity, cfg.Leading()}
	_ = json.NewEncoder(w).Encode(answer) // a caller that has gone away needs no answer
}
