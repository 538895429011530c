package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/fault"
)

var allModes = fault.Modes()

var named = map[string]tea.KeyType{"esc": tea.KeyEsc, "enter": tea.KeyEnter, "left": tea.KeyLeft, "right": tea.KeyRight, "up": tea.KeyUp, "down": tea.KeyDown,
	"tab": tea.KeyTab, "end": tea.KeyEnd, "home": tea.KeyHome, "pgup": tea.KeyPgUp, "ctrl+c": tea.KeyCtrlC, "ctrl+z": tea.KeyCtrlZ, "backspace": tea.KeyBackspace}

// press sends keys one after the other; the command of the last one is in s.command.
func (s *script) press(keys ...string) *script {
	for _, k := range keys {
		s.command(k)
	}
	return s
}

func (s *script) command(k string) tea.Cmd {
	msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
	if t, ok := named[k]; ok {
		msg = tea.KeyMsg{Type: t}
	}
	next, c := s.m.Update(msg)
	s.m = next.(model)
	return c
}

// doer is an Actions that notes what it was asked to do, and goes on until it is cancelled if it hangs.
type doer struct {
	did   []fault.Mode
	hangs bool
}

func (d *doer) Failover(ctx context.Context, mode fault.Mode, _ *Feed) (string, error) {
	d.did = append(d.did, mode)
	if d.hangs {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return "/runs/1", nil
}

func acting() (*script, *doer) {
	s, d := scenes["live"](), &doer{}
	s.m.options.Actions, s.m.modes, s.m.keys = d, allModes, newKeys(true, false)
	return s, d
}

func TestKeys_AFailoverIsConfirmedAndShowsItsKubectlLine(t *testing.T) {
	for k, want := range map[string]fault.Mode{"g": fault.Graceful, "f": fault.Kill} {
		s, d := acting()
		s.press(k)
		view := s.m.draw()
		description, _ := fault.Describe(want)
		line := description.KubectlLine("academy-build", pod(0))
		if line == "" {
			line = description.NoKubectl
		}
		if s.m.screen != screenConfirm || !strings.Contains(view, line) {
			t.Fatalf("%s: the confirmation is\n%s\nwant it to have %q", k, view, line)
		}
		s.press("esc")
		if s.m.screen != screenMain || len(d.did) != 0 {
			t.Errorf("%s, esc: screen %d, did %v; want nothing done", k, s.m.screen, d.did)
		}
		s.press(k)
		done := s.command("y")()
		if len(d.did) != 1 || d.did[0] != want || !s.m.running {
			t.Errorf("%s, y: did %v, running %t", k, d.did, s.m.running)
		}
		s.press("g")
		if s.m.screen != screenMain || !strings.Contains(s.m.draw(), "a failover is under way") {
			t.Error("a second failover can be asked for while one is under way, or it is not said that it can't")
		}
		s.send(done)
		if s.m.running || !strings.Contains(s.m.draw(), "/runs/1") {
			t.Errorf("after the end: running %t, view\n%s", s.m.running, s.m.draw())
		}
	}
}

func TestKeys_ModesOffersWhatTheProviderCanDo(t *testing.T) {
	s, d := acting()
	s.m.modes = allModes[:2]
	s.press("m", "down", "down", "enter")
	if s.m.screen != screenConfirm || s.m.mode.Mode != fault.ForceDelete {
		t.Fatalf("got screen %d, mode %q", s.m.screen, s.m.mode.Mode)
	}
	s.command("y")()
	if len(d.did) != 1 || d.did[0] != fault.ForceDelete {
		t.Errorf("did %v", d.did)
	}
	s.m.running = false
	s.press("f")
	if s.m.screen == screenConfirm || !strings.Contains(s.m.draw(), "can't be done") {
		t.Error("a mode that can't be done is offered")
	}
}

func TestKeys_ReadOnlyActsOnNothing(t *testing.T) {
	s := scenes["live"]()
	s.press("g", "f", "m")
	if s.m.screen != screenMain || strings.Contains(s.m.draw(), "graceful") {
		t.Errorf("got screen %d\n%s", s.m.screen, s.m.draw())
	}
}

func TestKeys_QuittingEndsAFailoverUnderWayFirst(t *testing.T) {
	s, d := acting()
	d.hangs = true
	run := s.press("f").command("y")
	ended := make(chan tea.Msg)
	go func() { ended <- run() }()
	if c := s.command("q"); c != nil {
		t.Error("it quits while the failover is under way")
	}
	msg := <-ended
	if !errors.Is(msg.(doneMsg).err, context.Canceled) {
		t.Errorf("got %+v", msg)
	}
	next, c := s.m.Update(msg)
	if c == nil || c() != (tea.QuitMsg{}) || !next.(model).quitting {
		t.Error("it does not quit after the failover ended")
	}
}

func TestKeys_QHelpAndEscMeanTheSameOnEveryScreen(t *testing.T) {
	for _, open := range []string{"", "m", "f", "l", "?"} {
		s, _ := acting()
		if open != "" {
			s.press(open)
		}
		if c := s.command("q"); c == nil || c() != (tea.QuitMsg{}) {
			t.Errorf("%q, q does not quit", open)
		}
		if open != "?" {
			if s.press("?"); s.m.screen != screenHelp {
				t.Errorf("%q, ? shows no help", open)
			}
		}
		if s.press("esc"); s.m.screen != screenMain {
			t.Errorf("%q, esc does not go back", open)
		}
	}
	s, _ := acting()
	if c := s.command("ctrl+c"); c == nil || c() != (tea.QuitMsg{}) {
		t.Error("ctrl-c does not quit")
	}
	if c := s.command("ctrl+z"); c == nil || c() != (tea.SuspendMsg{}) {
		t.Error("ctrl-z does not suspend")
	}
}

func TestKeys_TimeIsPausedAndScrubbedAndGoesOn(t *testing.T) {
	s := scenes["forced"]()
	s.press("p").at(95)
	if s.m.live || s.m.moment() != 90 || !strings.Contains(s.m.draw(), "paused") {
		t.Errorf("paused at %v, live %t", s.m.moment(), s.m.live)
	}
	s.press("left", "left", "right")
	if s.m.moment() != 89 {
		t.Errorf("scrubbed to %v, want 89", s.m.moment())
	}
	s.m.at = 70
	if view := s.m.draw(); !strings.Contains(view, "NOBODY LEADS for 10.0 s") {
		t.Errorf("in the gap:\n%s", view)
	}
	s.press("home")
	if s.m.moment() != 0 {
		t.Errorf("home is %v", s.m.moment())
	}
	s.press("end")
	if !s.m.live || s.m.moment() != 95 {
		t.Errorf("end: live %t at %v", s.m.live, s.m.moment())
	}
}

func TestKeys_TheFilterKeepsWhatHasItsText(t *testing.T) {
	s := scenes["ten-replicas"]().press("/", "p", "o", "d", "0", "7")
	if got := s.m.lanes(); len(got) != 1 || got[0].Name != pod(7) {
		t.Errorf("got %d lanes", len(got))
	}
	if s.press("backspace", "enter"); s.m.filter != "pod0" || s.m.typing {
		t.Errorf("filter %q, typing %t", s.m.filter, s.m.typing)
	}
	if s.press("esc"); len(s.m.lanes()) != 10 {
		t.Error("esc does not show all again")
	}
}

func TestKeys_WhatCantBeSeenCantBeMeant(t *testing.T) {
	s, d := acting()
	s.send(tea.WindowSizeMsg{Width: 20, Height: 5})
	s.press("f", "y", "l", "p")
	if len(d.did) != 0 || s.m.screen != screenMain || !s.m.live {
		t.Errorf("a key acted where nothing is drawn: %v, screen %d", d.did, s.m.screen)
	}
}

func TestKeys_ExportWritesWhatIsSeenWithoutColours(t *testing.T) {
	s := scenes["forced"]()
	s.m.theme = looks["dark"]
	got := ""
	s.m.options.Export = func(text string) (string, error) { got = text; return "file.txt", nil }
	s.send(s.command("e")())
	if !strings.Contains(got, "expired") || strings.ContainsRune(got, 0x1b) || !strings.Contains(s.m.draw(), "file.txt") {
		t.Errorf("exported:\n%s", got)
	}
}
