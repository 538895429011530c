package board

// Forget tells the Board that the watching was interrupted: of what is known nothing is heard any more, until Resume.
func (b *Board) Forget(at float64) {
	for _, r := range b.replicas {
		r.lose(at)
	}
	b.close(at)
	b.holder, b.term, b.suspects, b.recent, b.settling = nil, term{}, nil, recent{}, false
	if n := len(b.writes); n > 0 && b.writes[n-1].turn != Lost {
		b.writes = append(b.writes, write{at: at, wall: b.Wall(at), lease: b.writes[n-1].lease, turn: Lost})
	}
	if n := len(b.away); n > 0 && b.away[n-1].to == forever {
		b.away[n-1].to = at
	}
	b.lost.open(at)
}

// Resume tells the Board that a lab is watched again: the same one or another.
func (b *Board) Resume(at float64) { b.lost.close(at) }

// Listed tells the Board that all that is there was told: a Lease that was not among it does not exist.
func (b *Board) Listed(at float64) {
	if n := len(b.writes); n == 0 || b.writes[n-1].turn == Lost {
		b.any = true
		b.last.Wall, b.last.Seconds = b.Wall(max(at, b.last.Seconds)), max(at, b.last.Seconds)
		b.writes = append(b.writes, write{at: at, wall: b.Wall(at), turn: Missing})
	}
}

// Settle tells the Board that the lab is made ready for a fault, until that is issued or no more wanted.
func (b *Board) Settle(settling bool) { b.settling = settling }

// Restarted reports whether a replica that lives was restarted in its pod: such a one is replaced before a fault.
func (b *Board) Restarted() bool {
	for _, r := range b.replicas {
		if r.gone == forever && r.pod.UID != "" && r.pod.Restarts > 0 {
			return true
		}
	}
	return false
}

// lose closes whatever is open: nothing is heard of the replica any more.
func (r *replica) lose(at float64) {
	r.alive.close(at)
	r.holds.close(at)
	if r.gone == forever {
		r.gone, r.lost = at, at
	}
}

// back reopens the line of a replica of which something is heard again. What it was in between is not known.
func (r *replica) back(at float64) {
	if r.lost != forever {
		r.unheard = append(r.unheard, span{r.lost, at})
		r.lost, r.gone, r.podGone, r.told = forever, forever, forever, false
	}
}

// unheardIn reports whether for a part of [from, to) nothing could be heard of a replica that was there before.
func (b *Board) unheardIn(r *replica, from, to float64) bool {
	return r.unheard.within(from, to) || spans{b.since(r)}.within(from, to)
}

// since is the interruption in which a replica was lost; an empty span if it was not.
func (b *Board) since(r *replica) span {
	for _, s := range b.lost {
		if s.from == r.lost {
			return s
		}
	}
	return span{}
}

// until is when the last thing happened that a replica's line shows; forever while it may show more.
func (b *Board) until(r *replica) float64 {
	last := r.gone
	for _, s := range []spans{r.alive, r.holds} {
		if n := len(s); n > 0 {
			last = max(last, s[n-1].to)
		}
	}
	if n := len(r.marks); n > 0 {
		last = max(last, r.marks[n-1].at)
	}
	return max(last, b.since(r).to)
}
