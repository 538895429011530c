package timeline

import "slices"

// Upgrade is which version held the Lease while two were there.
type Upgrade struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Contested is whether an older replica could have had the Lease when it came to its next holder: one that was there and not
	// told to stop.
	Contested bool `json:"contested"`
	// NewerLedSeconds is for how long the newer version held the Lease while an older replica was there and not told to stop.
	NewerLedSeconds float64 `json:"newerLedSeconds"`
}

// upgrade follows the older replicas and the holder from the fault to the end of the trial.
func (m *measurer) upgrade() *Upgrade {
	if m.fault.To == "" || m.takeover == nil {
		return nil
	}
	u := &Upgrade{From: m.fault.From, To: m.fault.To}
	older := map[string]bool{} // UIDs of those that were not told to stop
	for _, uid := range m.fault.StandbyUIDs {
		older[uid] = true
	}
	newer, since, last := false, 0.0, m.t0
	count := func(at float64) {
		if newer && len(older) > 0 {
			u.NewerLedSeconds += at - since
		}
		since, last = at, at
	}
	for _, e := range m.events[m.start+1:] {
		if e.Kind == TrialEnded && e.Trial == m.trial {
			count(e.Seconds)
			break
		}
		switch {
		case e.Pod != nil && older[e.Pod.UID] && (e.Kind == PodGone || e.Pod.Terminating),
			e.Kind == ProcessGone && e.Process != nil && older[e.Process.UID]:
			count(e.Seconds)
			delete(older, uidOf(e))
		case e.Kind == LeaseSeen && e.Lease != nil:
			count(e.Seconds)
			newer = m.made[m.podOf(e.Lease.Holder)]
			if e.Seconds == m.takeoverT {
				u.Contested = slices.ContainsFunc(m.fault.StandbyUIDs, func(uid string) bool { return older[uid] })
			}
		}
	}
	if last == m.t0 {
		return nil
	}
	u.NewerLedSeconds = round(u.NewerLedSeconds)
	return u
}

func uidOf(e Event) string {
	if e.Pod != nil {
		return e.Pod.UID
	}
	return e.Process.UID
}
