package board

import "math"

// span is a while; to is forever as long as it lasts.
type span struct{ from, to float64 }

type spans []span

func (s *spans) open(at float64) {
	if n := len(*s); n > 0 && (*s)[n-1].to == forever {
		return
	}
	*s = append(*s, span{at, forever})
}

func (s spans) close(at float64) {
	if n := len(s); n > 0 && s[n-1].to == forever {
		s[n-1].to = at
	}
}

// at reports whether a moment lies in one of the spans.
func (s spans) at(at float64) bool { return s.within(at, math.Nextafter(at, forever)) }

// within reports whether one of the spans has a part of [from, to).
func (s spans) within(from, to float64) bool {
	for i := len(s) - 1; i >= 0 && s[i].to > from; i-- {
		if s[i].from < to {
			return true
		}
	}
	return false
}

// Tick is the resolution of work, in seconds: the operator's reconciles are a tick apart.
const Tick = 0.1

// bits is a set of ticks.
type bits struct {
	base  int // tick of the first bit
	words []uint64
}

func tickOf(at float64) int { return int(math.Floor(at/Tick + 1e-6)) }

func (b *bits) set(at float64) {
	i := tickOf(at)
	if b.words == nil {
		b.base = i - i%64 - 64
	}
	if i -= b.base; i < 0 {
		return // long before the watching began
	}
	for len(b.words) <= i/64 {
		b.words = append(b.words, 0)
	}
	b.words[i/64] |= 1 << (i % 64)
}

// last returns the beginning of the last tick that began at or before a moment.
func (b *bits) last(at float64) (float64, bool) {
	for i := min(tickOf(at)-b.base, len(b.words)*64-1); i >= 0; i-- {
		if b.words[i/64] == 0 {
			i -= i % 64
			continue
		}
		if b.words[i/64]&(1<<(i%64)) != 0 {
			return float64(i+b.base) * Tick, true
		}
	}
	return 0, false
}

// within reports whether there is a tick in [from, to).
func (b *bits) within(from, to float64) bool {
	first, last := max(0, tickOf(from)-b.base), min(len(b.words)*64, int(math.Ceil(to/Tick-1e-6))-b.base)
	for i := first; i < last; i++ {
		if b.words[i/64] == 0 {
			i |= 63
			continue
		}
		if b.words[i/64]&(1<<(i%64)) != 0 {
			return true
		}
	}
	return false
}
