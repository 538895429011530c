package model

import (
	"context"

	"academy.example/lab/operator/lease/gate"
)

// Variant is a way to build the gate.
type Variant string

// The variants: the gate as it is, and five that are wrong.
const (
	Right        Variant = "right"
	Swapped      Variant = "swapped"       // a machine reads the cluster lease before it takes its own
	StaleList    Variant = "stale-list"    // the cluster lists the run leases from a cache
	NoPreference Variant = "no-preference" // a cluster that waits gives its leases back
	KeepsLease   Variant = "keeps-lease"   // a machine that meets the cluster keeps its run lease
	Frozen       Variant = "frozen"        // a manager stands still for longer than the grace before it creates the Job
)

// Variants returns all of them, the right one first.
func Variants() []Variant {
	return []Variant{Right, Swapped, StaleList, NoPreference, KeepsLease, Frozen}
}

// About says what is different.
func (v Variant) About() string {
	return map[Variant]string{
		Right:        "the gate as it is",
		Swapped:      "a machine reads the cluster lease, and then takes its own",
		StaleList:    "the cluster lists the run leases from a cache that is up to 30 s old",
		NoPreference: "a cluster that waits for machines gives its leases back",
		KeepsLease:   "a machine that meets the cluster's operation keeps its run lease while it waits",
		Frozen:       "a pass may stand still for longer than the grace before it creates its Job",
	}[v]
}

// pass is one reconcile, as the variant does it.
func (v Variant) pass(ctx context.Context, g gate.Gate, op gate.Operation, j gate.Job) (gate.Result, error) {
	machine := op.Object.Kind != gate.Cluster
	switch {
	case v == Swapped && machine:
		return swapped(ctx, g, op, j)
	case v == NoPreference && !machine:
		result, err := g.Pass(ctx, op, j)
		if err == nil && result.Wait != nil && result.Wait.Reason == gate.WaitingForMachineOperations {
			err = g.Cleanup(ctx, op.Object)
		}
		return result, err
	case v == KeepsLease && machine:
		g.API = keeper{g.API}
		return g.Pass(ctx, op, j)
	default:
		return g.Pass(ctx, op, j)
	}
}

// swapped reads, and then writes.
func swapped(ctx context.Context, g gate.Gate, op gate.Operation, j gate.Job) (gate.Result, error) {
	state, err := g.API.Job(ctx, op.Job)
	if err != nil {
		return gate.Result{}, err
	}
	if state == gate.Absent {
		holder, err := g.Writer(ctx, op)
		if err != nil || holder != "" {
			return gate.Result{Wait: &gate.Wait{Reason: gate.WaitingForClusterOperation, Op: op, Jobs: []string{holder}}}, err
		}
	}
	g.Off = true // the run lease alone, from here on
	return g.Pass(ctx, op, j)
}

// keeper gives no lease back.
type keeper struct{ gate.API }

func (keeper) Delete(context.Context, gate.Record) error { return nil }
