package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/report"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func wall(t float64) time.Time { return epoch.Add(time.Duration(t * float64(time.Second))) }

var config = board.Config{Header: report.Header{Provider: "embedded", Lease: "academy-build/academy-operator", Election: "plain", Identity: "pod", ReleaseOnCancel: new(true),
	Timing: api.Default(), PodStartLatencySeconds: 1.2, Kubernetes: "v1.37.2"}, Namespace: "academy-build", SharedClock: true}

// script feeds a model in run seconds.
type script struct{ m model }

func pod(i int) string { return fmt.Sprintf("academy-operator-64f5dd4bf4-pod%02d", i) }

func newScript(replicas int) *script {
	s := &script{newModel(context.Background(), Options{Start: epoch, Config: config, Up: "labctl up"}, themeOf(termenv.Ascii, true), newFeed())}
	s.m.link = Link{State: Live}
	for i := range replicas {
		s.pod(0, timeline.PodSeen, pod(i), false)
	}
	return s
}

func themeOf(profile termenv.Profile, dark bool) theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(dark)
	return newTheme(r, unicode)
}

func (s *script) send(msg any) *script {
	next, _ := s.m.Update(msg)
	s.m = next.(model)
	return s
}

// at lets the clock tick to a moment.
func (s *script) at(t float64) *script { return s.send(tickMsg(wall(t))) }

func (s *script) on(t float64, e timeline.Event) *script {
	e.Seconds, e.Wall = t, wall(t)
	return s.send(eventsMsg{e})
}

func (s *script) lease(t float64, holder string, transitions int) *script {
	return s.on(t, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: holder, LeaseDurationSeconds: 15, Transitions: transitions, AcquireTime: wall(-300), RenewTime: wall(t)}})
}

func (s *script) pod(t float64, kind timeline.Kind, name string, terminating bool) *script {
	return s.on(t, timeline.Event{Kind: kind, Pod: &timeline.Pod{Name: name, UID: name, Phase: "Running", Ready: true, Terminating: terminating}})
}

func (s *script) process(t float64, kind timeline.Kind, name string, code int) *script {
	return s.on(t, timeline.Event{Kind: kind, Process: &timeline.Process{Pod: name, UID: name, ExitCode: code, At: wall(t)}})
}

func (s *script) log(t float64, name, message string) *script {
	return s.on(t, timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: name, UID: name, Time: wall(t), Message: message}})
}

// leads is a leader that renews and works, and standbys that poll.
func (s *script) leads(from, to float64, name string, transitions int, standbys ...string) *script {
	for t := from; t < to-0.01; t += 0.1 {
		if tick := int(t*10 + 0.5); tick%20 == 0 || t == from {
			s.lease(t, name, transitions)
		} else if tick%30 == 5 {
			for _, other := range standbys {
				s.log(t, other, api.MessageAttempt)
			}
		}
		s.log(t+0.02, name, api.MessageReconcile)
	}
	return s
}

// polls are a standby's attempts, three seconds apart.
func (s *script) polls(from, to float64, name string) *script {
	for t := from; t < to; t += 3 {
		s.log(t, name, api.MessageAttempt)
	}
	return s
}

func (s *script) fault(t float64, mode, name string, standbys ...string) *script {
	return s.on(t, timeline.Event{Kind: timeline.FaultIssued, Trial: 1, Fault: &timeline.Fault{Mode: mode, Pod: name, UID: name, Standbys: standbys, StandbyUIDs: standbys,
		SharedClock: true, RetryPeriodSeconds: 2}}).on(t, timeline.Event{Kind: timeline.FaultAccepted})
}

// followed is a Lease of whose candidates nothing is known, five seconds after it was first seen.
func followed(l timeline.Lease) *script {
	c := board.Config{Header: report.Header{Provider: "embedded", Lease: "some/lease", Kubernetes: "v1.37.2"}, Namespace: "some", SharedClock: true, Followed: true}
	s := &script{newModel(context.Background(), Options{Start: epoch, Config: c, Up: "labctl up"}, themeOf(termenv.Ascii, true), newFeed())}
	s.send(Link{State: Live})
	if l.Holder == "x" {
		return s.at(1)
	}
	return s.on(0, timeline.Event{Kind: timeline.LeaseSeen, Lease: &l}).at(5)
}

// scenes are what a student may see.
var scenes = map[string]func() *script{
	"live": func() *script { return newScript(2).leads(0, 60, pod(0), 3, pod(1)).at(60) },
	"gap": func() *script {
		return newScript(2).leads(0, 60, pod(0), 3, pod(1)).fault(60, "kill", pod(0), pod(1)).process(60, timeline.ProcessGone, pod(0), 137).
			pod(60.02, timeline.PodGone, pod(0), true).pod(60.1, timeline.PodSeen, pod(2), false).polls(61, 69, pod(1)).at(70)
	},
	"forced": func() *script {
		return newScript(2).leads(0, 60, pod(0), 3, pod(1)).fault(60, "kill", pod(0), pod(1)).process(60.01, timeline.ProcessGone, pod(0), 137).
			pod(60.02, timeline.PodGone, pod(0), true).pod(60.1, timeline.PodSeen, pod(2), false).polls(61, 78, pod(1)).
			leads(78.5, 90, pod(1), 4, pod(2)).on(83, timeline.Event{Kind: timeline.TrialEnded, Trial: 1}).at(90)
	},
	"graceful": func() *script {
		return newScript(2).leads(0, 60, pod(0), 3, pod(1)).pod(60, timeline.PodSeen, pod(0), true).lease(60.05, "", 3).
			process(60.1, timeline.ProcessGone, pod(0), 0).pod(60.12, timeline.PodGone, pod(0), true).pod(60.2, timeline.PodSeen, pod(2), false).
			leads(61.3, 75, pod(1), 4, pod(2)).at(75)
	},
	"two-leaders": func() *script {
		s := newScript(2).leads(0, 60, pod(0), 3, pod(1)).lease(60, "", 3).lease(60.5, pod(1), 4)
		for t := 60.0; t < 64; t += 0.1 {
			s.log(t, pod(0), api.MessageReconcile).log(t+0.55, pod(1), api.MessageReconcile)
		}
		return s.at(64.4)
	},
	"api-gone": func() *script {
		return newScript(2).leads(0, 60, pod(0), 3, pod(1)).on(61.5, timeline.Event{Kind: timeline.ServerAway, Note: "the API server has not answered for 1s"}).
			on(71.7, timeline.Event{Kind: timeline.ServerAway, Retry: &timeline.Retry{Attempt: 9, NextSeconds: 1.5}}).at(72.3)
	},
	"no-lab": func() *script {
		s := newScript(0)
		return s.send(Link{State: NoLab, Attempt: 3}).at(3)
	},
	"lab-lost": func() *script {
		return newScript(2).leads(0, 60, pod(0), 3, pod(1)).send(Link{State: NoLab, Attempt: 4}).at(63.2)
	},
	"overwritten": func() *script {
		s := newScript(2).leads(0, 60, pod(0), 3, pod(1)).on(60.5, timeline.Event{Kind: timeline.LeaseSeen,
			Lease: &timeline.Lease{Holder: "mallory", LeaseDurationSeconds: 15, Transitions: 3, AcquireTime: wall(-300), RenewTime: wall(58)}})
		for t := 60.0; t < 68; t += 0.1 {
			s.log(t, pod(0), api.MessageReconcile)
		}
		return s.process(68, timeline.ProcessGone, pod(0), 1).process(69, timeline.ProcessUp, pod(0), 0).polls(69.5, 72, pod(1)).at(72)
	},
	"stale-lease": func() *script {
		return followed(timeline.Lease{Holder: "node-1", LeaseDurationSeconds: 15, RenewTime: wall(-87911)})
	},
	"future-lease": func() *script {
		return followed(timeline.Lease{Holder: "node-1", LeaseDurationSeconds: 15, RenewTime: wall(365 * 24 * 3600)})
	},
	"empty-lease":   func() *script { return followed(timeline.Lease{}) },
	"untimed-lease": func() *script { return followed(timeline.Lease{Holder: "evil\x1b[31m\nerror: \u009bname"}) },
	"missing-lease": func() *script { return followed(timeline.Lease{Holder: "x"}).send(listedMsg{}).at(5) },
	"one-replica":   func() *script { return newScript(1).leads(0, 30, pod(0), 0).at(30) },
	"ten-replicas": func() *script {
		var others []string
		for i := range 9 {
			others = append(others, pod(i+1))
		}
		return newScript(10).leads(0, 60, pod(0), 3, others...).at(60)
	},
	"long-holder": func() *script {
		name := strings.Repeat("a-very-long-holder-name-", 10) + "that-ends"
		name = strings.Repeat("x", 253-len(name)-1) + "-" + name
		s := newScript(0).pod(0, timeline.PodSeen, name, false).pod(0, timeline.PodSeen, pod(1), false)
		return s.leads(0, 20, name, 3, pod(1)).at(20)
	},
}
