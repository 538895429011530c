package tui

import (
	"runtime"
	"testing"

	"academy.example/lab/operator/api"
)

func BenchmarkView(b *testing.B) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "120x40": {120, 40}} {
		m := scenes["ten-replicas"]().m
		m.theme, m.width, m.height = looks["dark"], size[0], size[1]
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.draw()
			}
		})
	}
}

// An hour of a leader that works ten times a second, with nine standbys, takes little memory, and drawing it little time.
func TestView_AnHourOfTenReplicasIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newScript(10)
	for tick := range 36000 {
		at := float64(tick) / 10
		if tick%20 == 0 {
			s.lease(at, pod(0), 3)
		}
		for i := range 10 {
			s.log(at, pod(i), api.MessageReconcile)
		}
	}
	s.at(3600)
	view := s.m.draw()
	runtime.GC()
	runtime.ReadMemStats(&after)
	kept := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20
	t.Logf("%d MiB kept", kept)
	if kept > 60 || len(view) == 0 {
		t.Errorf("an hour takes %d MiB, want at most 60", kept)
	}
}
