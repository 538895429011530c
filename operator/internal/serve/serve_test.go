package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"academy.example/lab/operator/api"
)

func TestHandler(t *testing.T) {
	leads, dead := true, error(nil)
	handler := Handler(Config{
		Identity: "a",
		Leading:  func() bool { return leads },
		Objects: func() int {
			if leads {
				return 3
			}
			return 0
		},
		Alive: func() error { return dead },
	})
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	check := func(path string, code int, piece string) {
		t.Helper()
		if gotCode, got := get(path); gotCode != code || !strings.Contains(got, piece) {
			t.Errorf("%s: got %d %q, want %d with %q", path, gotCode, got, code, piece)
		}
	}
	check("/metrics", 200, "\n"+api.MetricIsLeader+" 1\n")
	check("/metrics", 200, "\n"+api.MetricWorkObjects+" 3\n")
	check("/healthz", 200, "ok")
	check("/readyz", 200, "ok")
	check("/convert", 200, `{"identity":"a","leading":true}`)
	check("/nothing", 404, "")

	leads = false
	check("/metrics", 200, "\n"+api.MetricIsLeader+" 0\n")
	check("/metrics", 200, "\n"+api.MetricWorkObjects+" 0\n")
	check("/readyz", 200, "ok")
	check("/convert", 200, `{"identity":"a","leading":false}`)

	dead = errors.New("tick loop stands still for 7s")
	check("/healthz", 503, "tick loop stands still for 7s")
	check("/readyz", 200, "ok")
}

func TestStart(t *testing.T) {
	cfg := Config{
		Address: "127.0.0.1:0", Identity: "a", Log: slog.New(slog.DiscardHandler),
		Leading: func() bool { return false }, Objects: func() int { return 0 }, Alive: func() error { return nil },
	}
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", cfg.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()

	t.Run("a taken port says what to type", func(t *testing.T) {
		cfg := cfg
		cfg.Address = taken.Addr().String()
		_, err := Start(t.Context(), cfg)
		problems := api.Problems(err)
		if len(problems) != 1 || !strings.Contains(problems[0].What, "address already in use") || !strings.Contains(problems[0].Hint, "--bind-address=") {
			t.Errorf("got %q, want the reason and a flag", problems)
		}
	})
	t.Run("a wrong address is an error", func(t *testing.T) {
		cfg := cfg
		cfg.Address = "127.0.0.1:no-such-port"
		if _, err := Start(t.Context(), cfg); err == nil {
			t.Error("got no error")
		}
	})
	t.Run("it answers until shut down", func(t *testing.T) {
		log, address := addressOf()
		cfg := cfg
		cfg.Log = log
		server, err := Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + <-address + "/readyz"
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(body) != "ok\n" {
			t.Errorf("got %q, want ok", body)
		}
		server.Shutdown()
		if answer, err := http.Get(url); err == nil {
			answer.Body.Close()
			t.Error("still answers after Shutdown")
		}
	})
}

// addressOf returns a logger and the address that the server tells it.
func addressOf() (*slog.Logger, <-chan string) {
	found := make(chan string, 1)
	return slog.New(addressHandler{slog.DiscardHandler, found}), found
}

type addressHandler struct {
	slog.Handler
	found chan<- string
}

func (addressHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h addressHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == api.KeyAddress {
			h.found <- a.Value.String()
		}
		return true
	})
	return nil
}
