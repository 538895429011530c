package gatelab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"academy.example/lab/operator/lease/gate"
)

// Held is one lease, as `labctl gate status` shows it.
type Held struct {
	Lease      string    `json:"lease"`
	Type       string    `json:"type"`
	Owner      string    `json:"owner"` // kind/name
	Cluster    string    `json:"cluster"`
	Op         gate.Op   `json:"op"`
	Holder     string    `json:"holder"`
	AcquiredAt time.Time `json:"acquiredAt"`
	AgeSeconds float64   `json:"ageSeconds"`
	// Job is what the API server says of the holder: absent, running or finished.
	Job string `json:"job"`
	// Free is whether another Job may take it over, and FreeInSeconds when it may if nothing changes; 0 if it may.
	Free          bool    `json:"free"`
	FreeInSeconds float64 `json:"freeInSeconds"`
}

// Status lists the leases of the gate.
func (l *Lab) Status(ctx context.Context) ([]Held, error) {
	records, err := l.gate().All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the leases: %w", err)
	}
	g := gate.Gate{API: l.gate()}
	all := []Held{}
	for _, r := range records {
		state, err := l.gate().Job(ctx, r.Holder)
		if err != nil {
			return nil, fmt.Errorf("read Job %s: %w", r.Holder, err)
		}
		free, err := g.Free(ctx, r)
		if err != nil {
			return nil, err
		}
		age := time.Since(r.Acquired)
		h := Held{Lease: r.Name, Type: r.Type, Owner: string(r.Owner.Kind) + "/" + r.Owner.Name, Cluster: r.Owner.ClusterName, Op: r.Op, Holder: r.Holder,
			AcquiredAt: r.Acquired, AgeSeconds: age.Seconds(), Job: [...]string{"absent", "running", "finished"}[state], Free: free}
		switch {
		case free:
		case state == gate.Absent:
			h.FreeInSeconds = (gate.Grace - age).Seconds()
		default:
			h.FreeInSeconds = (r.Backstop - age).Seconds()
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Held) int { return strings.Compare(a.Type+a.Owner, b.Type+b.Owner) })
	return all, nil
}
