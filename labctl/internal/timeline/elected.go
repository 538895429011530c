package timeline

// Elected is what the API server did in a trial of the coordinated election (KEP-4355). There T5 is when it named the next holder,
// and that one leads from its next poll on.
type Elected struct {
	// NamedGone is how often it named the old holder again, which had given the Lease up or was gone.
	NamedGone int `json:"namedGone"`
	// Preferred is how often it wrote a preferredHolder before the next holder was named.
	Preferred int `json:"preferred"`
	// NoticedSeconds is from T5 to the first write of the new holder's own; nil if it was not seen.
	NoticedSeconds *float64 `json:"noticedSeconds"`
}

// elects reports whether the API server elects the holder. A release drops the strategy, so the record before the fault decides.
func (m *measurer) elects() bool { return m.before != nil && m.before.Strategy != "" }

// byServer takes what the API server writes before it names the next holder, and reports whether the event is that: a preferred
// holder, which changes nothing of the holder's record, or the old holder once more.
func (m *measurer) byServer(e Event) bool {
	if !m.elects() {
		return false
	}
	if m.out.Elected == nil {
		m.out.Elected = &Elected{}
	}
	switch _, released := m.instant(T4); {
	case e.Lease.PreferredHolder != "":
		m.out.Elected.Preferred++
		return true
	case released && e.Lease.Holder == m.before.Holder && !m.restarted:
		m.out.Elected.NamedGone++
		return true
	default:
		return false
	}
}

// notices takes the first write of the new holder's own.
func (m *measurer) notices(e Event) {
	if m.out.Elected == nil || m.out.Elected.NoticedSeconds != nil || e.Lease.Holder != m.takeover.Holder || e.Lease.RenewTime.Equal(m.takeover.RenewTime) {
		return
	}
	after := round(e.Seconds - m.takeoverT)
	m.out.Elected.NoticedSeconds = &after
}
