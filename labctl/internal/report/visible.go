package report

import (
	"slices"

	"academy.example/lab/labctl/internal/timeline"
)

// Visible returns the header with every text of it made visible; see timeline.Visible.
func (h Header) Visible() Header {
	for _, text := range []*string{&h.Provider, &h.Operator, &h.Lease, &h.Program, &h.Kubernetes} {
		*text = timeline.Visible(*text)
	}
	for _, setting := range []*Setting{&h.Election, &h.Identity, &h.OnLoss} {
		*setting = Setting(timeline.Visible(string(*setting)))
	}
	return h
}

// visible returns the run's report with every text of it that may be the cluster's made visible.
func (f Failover) visible() Failover {
	f.Header = f.Header.Visible()
	f.Cut = timeline.Visible(f.Cut)
	f.Trials = slices.Clone(f.Trials)
	for i, t := range f.Trials {
		f.Trials[i] = t.Visible()
	}
	f.Checks = slices.Clone(f.Checks)
	for i := range f.Checks {
		f.Checks[i].Reason = timeline.Visible(f.Checks[i].Reason)
	}
	return f
}
