package election_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/election"
	"academy.example/lab/operator/lease/election/electiontest"
)

var errRefused = errors.New("connection refused")

const namespace, name = api.DefaultNamespace, api.DefaultName

var updateOptions = metav1.UpdateOptions{}

func ptr[T any](v T) *T { return &v }

type candidate struct {
	name    string
	release bool
}

// running is one candidate in its own goroutines.
type running struct {
	client  *electiontest.Client
	log     *electiontest.Lines
	stop    context.CancelFunc
	started chan time.Time // when Work was called
	stopped chan time.Time // when Work was told to stop
	exits   chan int
}

func start(t *testing.T, store *electiontest.Store, c candidate) *running {
	return startIn(t.Context(), store, c)
}

func startIn(ctx context.Context, store *electiontest.Store, c candidate) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{
		client: store.Client(), log: new(electiontest.Lines), stop: cancel,
		started: make(chan time.Time, 1), stopped: make(chan time.Time, 1), exits: make(chan int, 1),
	}
	log := slog.New(slog.NewJSONHandler(r.log, nil))
	go election.Plain{
		Config: election.Config{Namespace: namespace, Name: name, Identity: c.name, Timing: api.Default(), ReleaseOnCancel: c.release},
		Client: r.client,
		Log:    log,
		Exit:   func(code int) { r.exits <- code },
		Work: func(ctx context.Context) {
			r.started <- time.Now()
			<-ctx.Done()
			r.stopped <- time.Now()
		},
	}.Run(election.Narrate(ctx, log))
	return r
}

func (r *running) mustHaveEnded(t *testing.T, want int) {
	t.Helper()
	select {
	case got := <-r.exits:
		if got != want {
			t.Errorf("got exit code %d, want %d", got, want)
		}
	default:
		t.Error("candidate has not called Exit")
	}
}
