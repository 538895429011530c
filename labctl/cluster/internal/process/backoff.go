package process

import "time"

// Backoff says how long a container that ends again and again waits for its next start.
type Backoff struct {
	Floor time.Duration // no restart sooner than this after an end
	First time.Duration // the wait before the second restart; it doubles from there
	Max   time.Duration // the longest wait; twice this without a restart forgets all

	delay     time.Duration
	restarted time.Time
}

// KubeletBackoff is what a kubelet does: at once (seen a second later), 10, 20 … 300 s, forgotten after 600 s.
func KubeletBackoff() Backoff {
	return Backoff{Floor: time.Second, First: 10 * time.Second, Max: 300 * time.Second}
}

// Wait is the time from an end at the given instant to the restart; beyond Floor it is a back-off to tell the user.
func (b *Backoff) Wait(ended time.Time) time.Duration {
	if b.forgotten(ended) {
		return b.Floor
	}
	return max(b.Floor, b.delay)
}

// Restarted notes a restart, which makes the next wait longer.
func (b *Backoff) Restarted(now time.Time) {
	if b.forgotten(now) {
		b.delay = b.First
	} else {
		b.delay = min(2*b.delay, b.Max)
	}
	b.restarted = now
}

func (b *Backoff) forgotten(now time.Time) bool {
	return b.delay == 0 || now.Sub(b.restarted) > 2*b.Max
}
