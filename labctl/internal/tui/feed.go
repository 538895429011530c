package tui

import (
	"context"
	"slices"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// Link is how the view is connected.
type Link struct {
	State LinkState
	// Text says why, or what is done about it.
	Text string
	// Retry is when the next attempt comes; zero if none is waited for.
	Retry time.Time
	// Attempt numbers it.
	Attempt int
}

// LinkState is one of the states of a Link.
type LinkState int

// The states of a Link.
const (
	Connecting LinkState = iota
	Live
	NoLab
	Broken // something failed; it is tried again
)

// The messages of a Feed.
type (
	eventsMsg []timeline.Event
	configMsg board.Config
	modesMsg  []fault.Description
	trialMsg  timeline.Trial
	sayMsg    string
	listedMsg struct{}
)

// batchEvery is the least pause between two deliveries, and how long work waits for more of it: a reconcile is seen twice,
// by its log line and its write.
const batchEvery = 20 * time.Millisecond

// Feed takes what happens, from any goroutine, and never blocks.
type Feed struct {
	mu    sync.Mutex
	queue []tea.Msg
	wake  chan struct{}
}

func newFeed() *Feed { return &Feed{wake: make(chan struct{}, 1)} }

// Event hands on an event. They must come in the order of their time.
func (f *Feed) Event(e timeline.Event) {
	f.mu.Lock()
	if n := len(f.queue); n > 0 {
		if batch, ok := f.queue[n-1].(eventsMsg); ok {
			f.queue[n-1] = append(batch, e)
			f.mu.Unlock()
			return
		}
	}
	f.mu.Unlock()
	f.put(eventsMsg{e})
}

// Link tells how the view is connected.
func (f *Feed) Link(l Link) { f.put(l) }

// Config tells what runs.
func (f *Feed) Config(c board.Config) { f.put(configMsg(c)) }

// Modes tells what can be done to a holder.
func (f *Feed) Modes(modes []fault.Description) { f.put(modesMsg(modes)) }

// Trial tells what a run has measured so far of the failover that was announced last.
func (f *Feed) Trial(t timeline.Trial) { f.put(trialMsg(t)) }

// Listed tells that all that was there at the beginning has been told.
func (f *Feed) Listed() { f.put(listedMsg{}) }

// Say tells what is being waited for.
func (f *Feed) Say(text string) { f.put(sayMsg(text)) }

func (f *Feed) put(m tea.Msg) {
	f.mu.Lock()
	f.queue = append(f.queue, m)
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Feed) take() []tea.Msg {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.queue
	f.queue = nil
	return queue
}

// usual reports whether nothing but work waits for delivery.
func (f *Feed) usual() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.queue {
		events, ok := m.(eventsMsg)
		if !ok || slices.ContainsFunc(events, func(e timeline.Event) bool {
			return e.Work == nil && (e.Log == nil || e.Log.Message != api.MessageReconcile)
		}) {
			return false
		}
	}
	return true
}

// pump delivers until ctx ends.
func (f *Feed) pump(ctx context.Context, send func(tea.Msg)) {
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		wait := batchEvery/2 - time.Since(last)
		if f.usual() {
			wait = batchEvery
		}
		if wait > 0 && !pause(ctx, wait) {
			return
		}
		for _, m := range f.take() {
			send(m)
		}
	}
}

// pause waits and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
