package report

// word is one of the page's words, and what it means here.
type word struct{ Name, Means string }

// glossary are the words of the page, as docs/concepts.md has them.
func glossary() []word {
	return []word{
		{"Lease", "the object in the API that says who may lead, and until when others have to wait"},
		{"holder", "the identity that is written in the Lease: a fact in the API"},
		{"leader", "a process that believes it leads: a fact in a process"},
		{"candidate, standby, replacement", "any process that runs the elector; one that is not the holder; the pod that Kubernetes makes in place of one that was deleted"},
		{"LeaseDuration", "how long a standby must have seen the record unchanged, on its own clock, before it takes the Lease"},
		{"RenewDeadline", "how long the holder goes on trying to renew before it stops leading. It is in no gap"},
		{"RetryPeriod", "the holder renews every RetryPeriod; a standby polls every RetryPeriod·(1 … 2.2)"},
		{"lock gap", "no process that is heard holds the Lease: from the release, or from the end of the holder's process, until the Lease has its next holder. The model predicts it"},
		{"user gap", "from the command to the next holder's first reconcile: what a user feels"},
		{"overlap", "how long the old leader worked after the new one began"},
		{"age of the last renewal", "how old the last renewal was when the holder's process was gone; it shortens the gap"},
		{"observation lag", "how long after that renewal the next holder's first poll saw it: only then its wait begins"},
		{"poll phase", "from the moment the Lease could be taken to the next holder's next poll"},
		{"released, expired", "the holder gave the Lease up, and an empty holder was seen; or nobody did, and a standby waited LeaseDuration out"},
		{"same-identity", "a restarted container took its own Lease back, and no transition tells of it"},
		{"stolen, deleted, unknown", "taken while it was valid and not released; taken after the object was deleted; not seen. A trial of class unknown is never averaged in"},
		{"transition", "the Lease gets a holder other than the one recorded: leaseTransitions + 1"},
		{"virtual time", "the same election, client-go's code and a Lease in memory, where nobody waits for a clock: a thousand failovers in a fraction of a second"},
		{"trial, run", "one fault and what followed; the trials of one command"},
		{"phase", "a random wait before each fault, so that it meets any part of the cycle"},
		{"lane", "one of several sets of replicas, each with a Lease, that are measured side by side"},
		{"void", "said of a trial that something else than its fault decided, or that was not seen as a whole; it has no figures"},
		{"lag, ±", "how much later than its source wrote it down an instant was seen; a figure's ± is the larger lag of its two instants, of several trials the largest"},
		{"n", "how many trials a figure is of"},
		{"T0 … T7", "T0 the command is about to be sent; T1 it was accepted; T2 the holder logged the signal; T3 its process is gone, or silenced; T4 the Lease has no holder; T5 it has its next holder; T6 that one logged that it leads; T7 its first reconcile"},
		{"pass, fail, unknown", "what was not observed is unknown, and never called a failure"},
	}
}
