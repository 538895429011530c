package lab

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/labctl/internal/observe"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/labctl/internal/timeline"
)

// Status is what runs, read at one moment.
type Status struct {
	Schema     string           `json:"schema"`
	Kind       string           `json:"kind"`
	Name       string           `json:"name"`
	Provider   string           `json:"provider"`
	Server     string           `json:"server"`
	Kubernetes string           `json:"kubernetes"`
	Kubeconfig string           `json:"kubeconfig"`
	Namespace  string           `json:"namespace"`
	Settings   replica.Settings `json:"settings"`
	Replicas   int              `json:"replicas"`
	Ready      int              `json:"ready"`
	// Settled is whether the replicas are exactly those wanted, all of them with these settings.
	Settled bool `json:"settled"`
	// Lease is null if it does not exist.
	Lease *timeline.Lease `json:"lease"`
	// RenewAgeSeconds is this machine's wall clock minus renewTime, which the holder's clock wrote; null without a renewal.
	RenewAgeSeconds *float64       `json:"renewAgeSeconds"`
	Pods            []timeline.Pod `json:"pods"`
	// HolderGone is whether the recorded holder is none of the pods: nobody leads, until the record expires.
	HolderGone bool `json:"holderGone"`
	// Program is what the Deployment runs in the place of the lab's own operator; empty if it runs that.
	Program string `json:"program"`
	// Lanes are the namespaces of replicas that another labctl measures at this moment.
	Lanes []string `json:"lanes"`
}

// Next is the command that makes sense next.
func (s Status) Next() string {
	switch {
	case s.Replicas == 0:
		return "labctl scale 2"
	case s.Lease == nil || s.Lease.Holder == "" || s.HolderGone || s.Ready < s.Replicas || !s.Settled:
		return "labctl status"
	default:
		return "labctl failover --force"
	}
}

// Status reads the Deployment, its pods and the Lease.
func (l *Lab) Status(ctx context.Context) (Status, error) {
	state, err := l.state(ctx)
	if err != nil {
		return Status{}, err
	}
	lease, err := l.Lease(ctx, state.Settings.LeaseName)
	if err != nil {
		return Status{}, err
	}
	s := Status{Schema: "lab/v1", Kind: "Status", Name: l.Cluster.Name, Provider: l.Cluster.Provider, Server: l.Cluster.Server,
		Kubernetes: l.Cluster.Kubernetes, Kubeconfig: l.Cluster.Kubeconfig, Namespace: l.Deployment.Namespace,
		Settings: state.Settings, Replicas: state.Replicas, Ready: state.Ready, Settled: state.Settled, Lease: lease, Pods: podsOf(state.Pods)}
	s.Program, s.Lanes = l.program(state), []string{}
	lanes, err := l.lanes(ctx)
	if err != nil {
		return Status{}, err
	}
	s.Lanes = append(s.Lanes, staying(lanes)...)
	if lease != nil && !lease.RenewTime.IsZero() {
		age := time.Since(lease.RenewTime).Seconds()
		s.RenewAgeSeconds = &age
	}
	s.HolderGone = lease != nil && lease.Holder != "" && !slices.ContainsFunc(s.Pods, func(p timeline.Pod) bool { return p.Holds(lease.Holder) })
	return s, nil
}

func podsOf(pods []corev1.Pod) []timeline.Pod {
	out := []timeline.Pod{}
	for i := range pods {
		out = append(out, *observe.PodOf(&pods[i]))
	}
	slices.SortFunc(out, func(a, b timeline.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}
