package api

import (
	"cmp"
	"strings"
)

// Guards are the protections of the guarded election, each a switch: turned off, the weak point of bare client-go that it
// covers can be seen. The plain election has none of them and does not read them, but for Fence, which the work asks.
type Guards struct {
	// Client gives the Lease a client of its own with a time-out of LeaseDuration − RenewDeadline − 1 s. Off, renewals share
	// the work's client and rate limiter, and one request that is never answered uses up the whole RenewDeadline.
	Client bool `json:"client"`
	// Deadline ends the work RenewDeadline after the last renewal that succeeded was *sent*, by a timer and by a look at the
	// clock before each write, and at once when another holder is read. Off, client-go's context is all there is.
	Deadline bool `json:"deadline"`
	// Release gives the Lease back only after the work has stopped and never over another holder. Off, client-go releases:
	// at once when asked to stop, and after a loss before it tells the work.
	Release bool `json:"release"`
	// Fence stamps the transition number on every work object before any other work, leaves alone what carries a higher
	// one, and makes each write depend on the version read. Off, the last writer wins.
	Fence bool `json:"fence"`
}

// AllGuards returns every protection turned on.
func AllGuards() Guards { return Guards{Client: true, Deadline: true, Release: true, Fence: true} }

// String names the protections that are on: "all", "none", or those that are left.
func (g Guards) String() string {
	if g == AllGuards() {
		return "all"
	}
	var on []string
	for _, each := range g.Each() {
		if *each.On {
			on = append(on, strings.TrimPrefix(each.Flag, "guard-"))
		}
	}
	return cmp.Or(strings.Join(on, ", "), "none")
}

// Guard is one protection under its flag's name.
type Guard struct {
	Flag string
	On   *bool
}

// Each lists the protections of g, so that flags and settings can be read into it.
func (g *Guards) Each() []Guard {
	return []Guard{{FlagGuardClient, &g.Client}, {FlagGuardDeadline, &g.Deadline}, {FlagGuardRelease, &g.Release}, {FlagGuardFence, &g.Fence}}
}

// Booleans returns the flags of academy-operator that take no second word.
func Booleans() []string {
	return []string{FlagReleaseOnCancel, FlagGuardClient, FlagGuardDeadline, FlagGuardRelease, FlagGuardFence}
}
