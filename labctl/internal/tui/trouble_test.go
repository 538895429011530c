package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"academy.example/lab/labctl/internal/board"
	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

func (s *script) shows(t *testing.T, texts ...string) {
	t.Helper()
	view := s.m.draw()
	for _, text := range texts {
		if !strings.Contains(view, text) {
			t.Errorf("want %q in\n%s", text, view)
		}
	}
}

func (s *script) hides(t *testing.T, texts ...string) {
	t.Helper()
	view := s.m.draw()
	for _, text := range texts {
		if strings.Contains(view, text) {
			t.Errorf("%q is in\n%s", text, view)
		}
	}
}

// runes is what was typed fast, or pasted: several runes in one message.
func (s *script) runes(text string, paste bool) *script {
	next, _ := s.m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: paste})
	s.m = next.(model)
	return s
}

func TestView_NoControlCharacterOfTheClusterReachesTheTerminal(t *testing.T) {
	const evil = "a\x1b]0;title\a\nb\u009b31m\u202e"
	s := newScript(1).leads(0, 10, pod(0), 3)
	s.pod(10, timeline.PodSeen, evil, false).lease(10.1, evil, 4)
	s.on(10.2, timeline.Event{Kind: timeline.LogLine, Log: &timeline.Log{Pod: evil, UID: timeline.Visible(evil), Time: wall(10.2), Message: evil, Raw: evil, Level: evil}})
	s.on(10.3, timeline.Event{Kind: timeline.WatchHole, Note: evil}).at(11)
	s.m.options.Actions, s.m.modes, s.m.keys = &doer{}, allModes, newKeys(true, false)
	screens := map[string]func(){"main": func() {}, "logs": func() { s.press("l") }, "confirm": func() { s.press("esc", "g") }, "said": func() {
		s.press("esc")
		s.m.running = true
		s.send(sayMsg(evil))
	}, "ended": func() { s.send(doneMsg{run: evil}) }, "broken": func() { s.send(Link{State: Broken, Text: evil}) }}
	for _, name := range []string{"main", "logs", "confirm", "said", "ended", "broken"} {
		screens[name]()
		lines := strings.Split(s.m.draw(), "\n")
		if len(lines) != s.m.height || strings.ContainsAny(strings.Join(lines, ""), "\x1b\a\u009b\u202e") || !strings.Contains(strings.Join(lines, ""), `\x1b]0;`) {
			t.Errorf("%s: %d lines\n%q", name, len(lines), lines)
		}
	}
}

func TestKeys_TheConfirmationNamesThePresentHolderWhateverIsShown(t *testing.T) {
	s := scenes["forced"]()
	s.m.options.Actions, s.m.modes, s.m.keys = &doer{}, allModes, newKeys(true, false)
	s.press("p").send(nil)
	s.m.at = 50 // when the pod that is killed since held the Lease
	s.press("g")
	s.shows(t, "to        "+pod(1))
	s.hides(t, pod(0))
}

func TestKeys_EachRuneOfAReadActs(t *testing.T) {
	s := scenes["live"]().runes("+++", false)
	if s.m.step != 0.1 {
		t.Errorf("three + in one read: a column stands for %v", s.m.step)
	}
	if s.runes("-?", false); s.m.step != 0.2 || s.m.screen != screenHelp {
		t.Errorf("got %v, screen %d", s.m.step, s.m.screen)
	}
	if _, c := s.m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("qq")}); c == nil || c() != (tea.QuitMsg{}) {
		t.Error("qq does not quit")
	}
	s = scenes["live"]().press("/").runes("pod 00\n\x1b", true)
	if s.m.filter != "pod 00" {
		t.Errorf("pasted: got %q", s.m.filter)
	}
	s = scenes["live"]().press("/")
	for _, k := range []tea.KeyMsg{{Type: tea.KeyRunes, Runes: []rune("a")}, {Type: tea.KeySpace, Runes: []rune(" ")}, {Type: tea.KeyRunes, Runes: []rune("b")}} {
		s.send(k)
	}
	if s.m.filter != "a b" {
		t.Errorf("typed: got %q", s.m.filter)
	}
}

func TestKeys_APasteConfirmsNothing(t *testing.T) {
	s, d := acting()
	s.runes("fy", true)
	if s.m.screen != screenConfirm || s.m.running || len(d.did) != 0 {
		t.Errorf("screen %d, running %t", s.m.screen, s.m.running)
	}
	if s.runes("y", true); s.m.running {
		t.Error("a pasted y begins a failover")
	}
	if s.runes("y", false); !s.m.running {
		t.Error("a typed y does not")
	}
}

func TestKeys_ScrollingEndsAtTheEnds(t *testing.T) {
	s := scenes["live"]()
	for i := range 60 {
		s.log(60+float64(i)/100, pod(0), fmt.Sprint("line ", i))
	}
	s.at(61).press("l")
	for range 200 {
		s.press("up")
	}
	s.shows(t, "line 0")
	if s.press("down"); !strings.Contains(s.m.draw(), "line 20") || strings.Contains(s.m.draw(), "line 0\n") {
		t.Errorf("one step back does not show at once:\n%s", s.m.draw())
	}
	s = scenes["forced"]().press("tab", "tab")
	s.press("down", "down", "down")
	if s.m.scroll[focusFailovers] != 0 {
		t.Errorf("one failover can be scrolled by %d", s.m.scroll[focusFailovers])
	}
	s = scenes["ten-replicas"]().press("tab")
	s.m.height = 20
	for range 30 {
		s.press("down")
	}
	if l := s.m.layout(s.m.frame()); s.m.scroll[focusLanes] != len(l.lanes)-l.laneRows {
		t.Errorf("lanes scrolled by %d", s.m.scroll[focusLanes])
	}
}

func TestKeys_LogsBeginWithTheHolderAndCollapseRepetition(t *testing.T) {
	s := scenes["forced"]().press("l")
	s.shows(t, "LOGS of "+pod(1), "replica 1 of 3", "kubectl -n academy-build logs "+pod(1), "attempting to acquire x")
	s.press("tab")
	s.shows(t, "LOGS of "+pod(2), "replica 2 of 3")
	s.press("tab")
	s.shows(t, "LOGS of "+pod(0), "gone, replica 3 of 3", "the pod is gone; only this view still has its lines", "nothing but reconciles since the view began")
	s.hides(t, "kubectl")
	f := followed(timeline.Lease{Holder: "node-1", LeaseDurationSeconds: 15, RenewTime: wall(0)}).press("l")
	f.hides(t, "kubectl")
}

func TestView_WhileAFailoverIsUnderWayItsKeysAreGoneAndSaid(t *testing.T) {
	s, _ := acting()
	s.press("f", "y").send(sayMsg("settling"))
	s.hides(t, "g graceful", "f forced", "m modes")
	for _, k := range []string{"g", "f", "m"} {
		s.press(k)
		s.shows(t, "a failover is under way")
	}
	s.at(65)
	s.shows(t, "kill: settling")
	s.press("p", "left", "left")
	s.hides(t, "kill: settling")
	s.press("end").fault(66, "kill", pod(0), pod(1)).process(66, timeline.ProcessGone, pod(0), 137).send(sayMsg("done; waiting for a successor that works")).at(70)
	s.shows(t, "waiting for a successor")
	s.polls(61, 83, pod(1)).lease(83, pod(1), 4).at(83.1)
	s.shows(t, "taken over; waiting for the successor's first work")
	s.log(83.2, pod(1), api.MessageReconcile).at(83.4)
	s.shows(t, "the successor works; the record is being finished")
}

func TestView_ANoticeFades(t *testing.T) {
	s, _ := acting()
	s.send(doneMsg{run: "/runs/1"}).at(100)
	s.shows(t, "recorded: /runs/1")
	s.at(121)
	s.hides(t, "recorded:")
	s.send(doneMsg{run: "/runs/2"}).process(125, timeline.ProcessGone, pod(0), 137).at(126)
	s.hides(t, "recorded:")
}

func TestView_WhatSettlesTheLabIsNotSomebodysDoing(t *testing.T) {
	s := scenes["live"]()
	s.on(60, timeline.Event{Kind: timeline.PodSeen, Pod: &timeline.Pod{Name: pod(0), UID: pod(0), Ready: true, Restarts: 1}})
	s.m.options.Actions, s.m.modes, s.m.keys = &doer{}, allModes, newKeys(true, false)
	s.at(61).press("f")
	s.shows(t, "a pod whose container was restarted is replaced first: one more")
	s.press("y").pod(62, timeline.PodSeen, pod(0), true).lease(62.1, "", 3).at(63)
	s.shows(t, "(settling)")
	s.hides(t, "(pod deleted)")
}

// replayed is a finished run of ten seconds.
func replayed() *script {
	live := newScript(2).leads(0, 10, pod(0), 3, pod(1))
	return &script{newModel(live.m.ctx, Options{Config: config, Recorded: &Recorded{Board: live.m.board, Name: "run", Speed: 1}}, live.m.theme, newFeed())}
}

func TestReplay_TheEndIsDrawnAndThePauseTellsTheSpeed(t *testing.T) {
	s := replayed().at(0)
	s.m.View()
	for i := range 120 {
		s.at(float64(i) / 10)
		s.m.View()
	}
	if view := s.m.View(); s.m.playing || !strings.Contains(view, "paused, 1x") {
		t.Errorf("after the end:\n%s", view)
	}
	s.press(">", ">")
	s.shows(t, "paused, 4x")
	s.press("home")
	s.hides(t, "starting", "no Lease is held", "not seen yet")
}

func TestView_ATinyTerminalSaysWhetherTheHolderLeads(t *testing.T) {
	for name, want := range map[string]string{"live": "pod00 leads 2.0s", "gap": "nobody leads 10.0s", "lab-lost": "no lab 3", "overwritten": "nobody leads 3.9s", "api-gone": "API away", "two-leaders": "TWO LEADERS",
		"stale-lease": "named", "missing-lease": "no Lease", "empty-lease": "nobody leads"} {
		s := scenes[name]()
		s.m.width, s.m.height = 29, 7
		if got := s.m.draw(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Each sign that is drawn in the lanes or the window is named below it, at any width that shows lanes.
func TestView_EverySignThatIsDrawnIsNamed(t *testing.T) {
	for name, scene := range scenes {
		for _, size := range [][2]int{{60, 16}, {80, 24}, {120, 40}} {
			m := scene().m
			m.width, m.height = size[0], size[1]
			f := m.frame()
			l := m.layout(f)
			legend := strings.Join(l.legend, " ")
			for _, lane := range l.lanes {
				for _, c := range lane.Cells {
					if c != board.CellNone && !strings.Contains(legend, f.signs.cells[c]) {
						t.Errorf("%s %v: %q is not named in %q", name, size, f.signs.cells[c], legend)
					}
				}
			}
			if w := f.snap.Now; w != nil && w.RenewDeadline > 0 && !strings.Contains(strings.Join(f.legend(*w), " "), "RenewDeadline") {
				t.Errorf("%s %v: RenewDeadline is not named in %q", name, size, f.legend(*w))
			}
			for _, o := range l.failovers {
				if row := f.failover(o, 20); o.Trial.Void == "" && lineWidth(row) > m.width {
					t.Errorf("%s %v: %q is too long", name, size, row)
				}
			}
			for _, line := range append(l.legend, f.window(false)...) {
				if lineWidth(line) > m.width {
					t.Errorf("%s %v: %q is too long", name, size, line)
				}
			}
		}
	}
}

func TestView_HeadAndWindowTellOneAge(t *testing.T) {
	s := newScript(2).leads(0, 10, pod(0), 3, pod(1))
	s.on(10, timeline.Event{Kind: timeline.LeaseSeen, Lease: &timeline.Lease{Holder: pod(0), LeaseDurationSeconds: 15, Transitions: 3, RenewTime: wall(9.93)}}).at(11)
	s.shows(t, ", 1.1 s ago", "now 1.1 ")
}

func TestView_AReleasedRecordHasTheAgeOfTheRelease(t *testing.T) {
	s := scenes["live"]().lease(60, "", 3).at(60.4)
	s.shows(t, "renewTime 12:01:00.000 (the release), 0.4 s ago", "released 0.4 s ago")
	s.hides(t, "acquireTime")
}
