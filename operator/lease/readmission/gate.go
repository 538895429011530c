// Package readmission is a gate in front of a queue, in Kueue's words, and an adapter that goes through it. An adapter hands
// jobs to a ClusterQueue that lists an AdmissionCheck; a controller answers the check. Without the controller each job waits for
// ever, so the adapter writes nothing to a cluster where it can't prove that the controller is alive.
//
// The proof is the controller's Lease (package heartbeat), and nothing else. That the check is Active is none: its controller
// sets the condition, and nothing clears it when the controller is gone.
package readmission

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"academy.example/lab/operator/lease/heartbeat"
)

// Kueue's API, as far as it is needed here.
const (
	Group   = "kueue.x-k8s.io"
	Version = "v1beta2"

	// Active is the condition that an AdmissionCheck's controller sets.
	Active = "Active"
	// Pending and Ready are states of a job's check.
	Pending = "Pending"
	Ready   = "Ready"
)

// The resources.
var (
	ClusterQueues   = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "clusterqueues"}
	AdmissionChecks = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "admissionchecks"}
	Workloads       = schema.GroupVersionResource{Group: Group, Version: Version, Resource: "workloads"}
)

// The defaults of a Gate.
const (
	Queue          = "dispatch"
	Check          = "dispatch-admission"
	Controller     = "dispatch.example/admission"
	LeaseNamespace = "dispatch-system"
	LeaseName      = "dispatch-admission"
)

// Gate is what has to be proven before a job is written.
type Gate struct {
	Kueue  dynamic.Interface           // get on clusterqueues and admissionchecks
	Leases coordinationv1.LeasesGetter // get on leases in LeaseNamespace

	Queue      string // name of the ClusterQueue
	Check      string // name of the AdmissionCheck
	Controller string // what the check's spec.controllerName must be
	// LeaseNamespace and LeaseName are those of the controller's leader election: kueue.admissionLease.
	LeaseNamespace, LeaseName string
}

// The steps, in order.
const (
	StepListed     = "listed"     // the ClusterQueue lists the AdmissionCheck
	StepController = "controller" // the check names the controller
	StepActive     = "active"     // the check's condition Active is True
	StepLease      = "lease"      // the controller's Lease has a heartbeat
)

// Step is one thing that was looked at.
type Step struct {
	Name    string            `json:"name"`
	Verdict heartbeat.Verdict `json:"verdict"`
	Reason  string            `json:"reason,omitempty"` // empty if yes
}

// Preflight is the gate as it was at one moment: the steps up to and with the first that is not yes.
type Preflight struct {
	// Verdict is that of the last step: ReadmissionGate yes, no or unknown.
	Verdict heartbeat.Verdict `json:"verdict"`
	Reason  string            `json:"reason,omitempty"`
	Steps   []Step            `json:"steps"`
}

// Preflight looks at everything once, the Lease last. What may not be read makes the gate unknown; so does any error.
func (g Gate) Preflight(ctx context.Context) Preflight {
	var p Preflight
	var check *unstructured.Unstructured
	for _, step := range []struct {
		name string
		look func() (heartbeat.Verdict, string)
	}{
		{StepListed, func() (heartbeat.Verdict, string) { return g.listed(ctx) }},
		{StepController, func() (v heartbeat.Verdict, why string) { check, v, why = g.named(ctx); return v, why }},
		{StepActive, func() (heartbeat.Verdict, string) { return g.active(check) }},
		{StepLease, func() (heartbeat.Verdict, string) {
			reading := heartbeat.Check(ctx, g.Leases, g.LeaseNamespace, g.LeaseName)
			return reading.Verdict, reading.Reason
		}},
	} {
		p.Verdict, p.Reason = step.look()
		p.Steps = append(p.Steps, Step{step.name, p.Verdict, p.Reason})
		if p.Verdict != heartbeat.Yes {
			break
		}
	}
	return p
}

func (g Gate) listed(ctx context.Context) (heartbeat.Verdict, string) {
	queue, err := g.Kueue.Resource(ClusterQueues).Get(ctx, g.Queue, metav1.GetOptions{})
	if err != nil {
		return unread("ClusterQueue", g.Queue, err)
	}
	checks, _, _ := unstructured.NestedSlice(queue.Object, "spec", "admissionChecksStrategy", "admissionChecks")
	if !slices.ContainsFunc(checks, func(c any) bool { each, ok := c.(map[string]any); return ok && each["name"] == g.Check }) {
		return heartbeat.No, fmt.Sprintf("ClusterQueue %s does not list AdmissionCheck %s", g.Queue, g.Check)
	}
	return heartbeat.Yes, ""
}

func (g Gate) named(ctx context.Context) (*unstructured.Unstructured, heartbeat.Verdict, string) {
	check, err := g.Kueue.Resource(AdmissionChecks).Get(ctx, g.Check, metav1.GetOptions{})
	if err != nil {
		verdict, why := unread("AdmissionCheck", g.Check, err)
		return nil, verdict, why
	}
	if name, _, _ := unstructured.NestedString(check.Object, "spec", "controllerName"); name != g.Controller {
		return check, heartbeat.No, fmt.Sprintf("AdmissionCheck %s names controller %q, not %s", g.Check, name, g.Controller)
	}
	return check, heartbeat.Yes, ""
}

// active looks at the condition. It can only close the gate: a controller that never came up has not set it.
func (g Gate) active(check *unstructured.Unstructured) (heartbeat.Verdict, string) {
	conditions, _, _ := unstructured.NestedSlice(check.Object, "status", "conditions")
	for _, c := range conditions {
		if each, ok := c.(map[string]any); ok && each["type"] == Active && each["status"] == string(metav1.ConditionTrue) {
			return heartbeat.Yes, ""
		}
	}
	return heartbeat.No, fmt.Sprintf("AdmissionCheck %s is not Active", g.Check)
}

// unread says why an object could not be read: it is missing, which is an answer, or nobody knows.
func unread(kind, name string, err error) (heartbeat.Verdict, string) {
	switch {
	case apierrors.IsNotFound(err):
		return heartbeat.No, fmt.Sprintf("%s %s does not exist", kind, name)
	case apierrors.IsForbidden(err):
		return heartbeat.Unknown, fmt.Sprintf("may not get %s %s: %v", kind, name, err)
	default:
		return heartbeat.Unknown, fmt.Sprintf("%s %s could not be read: %v", kind, name, err)
	}
}
