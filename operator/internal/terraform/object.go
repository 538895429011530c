package terraform

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"academy.example/lab/operator/lease/gate"
)

// Group and Version of the three resources.
const (
	Group   = "captf.io"
	Version = "v1alpha1"
)

// Resource is what the API calls a kind.
func Resource(k gate.Kind) schema.GroupVersionResource {
	names := map[gate.Kind]string{gate.Cluster: "terraformclusters", gate.Machine: "terraformmachines", gate.MachinePool: "terraformmachinepools"}
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: names[k]}
}

// Object is a TerraformCluster, a TerraformMachine or a TerraformMachinePool.
type Object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is what is wanted.
type Spec struct {
	// ClusterName is the TerraformCluster that a machine or a pool belongs to; a cluster has none.
	ClusterName string `json:"clusterName,omitempty"`
	// Op is what is done with the inputs; "" is apply. An object that is deleted is destroyed, whatever it says.
	Op gate.Op `json:"op,omitempty"`
	// Inputs stand for the variables of a Terraform module: other ones make another Job.
	Inputs string `json:"inputs,omitempty"`
	// Seconds is how long the Job works; 0 is one second. Fail is whether it fails then.
	Seconds int64 `json:"seconds,omitempty"`
	Fail    bool  `json:"fail,omitempty"`
	// ActiveDeadlineSeconds is the Job's; 0 is an hour.
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`
}

// Status is what has been done.
type Status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Done is the operation that last succeeded, with a hash of its inputs.
	Done string `json:"done,omitempty"`
	// Failing is the operation that failed last, Failures how often in a row, and FailedAt when.
	Failing  string       `json:"failing,omitempty"`
	Failures int          `json:"failures,omitempty"`
	FailedAt *metav1.Time `json:"failedAt,omitempty"`
	// WaitingJob is the Job that can't be created yet.
	WaitingJob string `json:"waitingJob,omitempty"`
	// Counted is how many finished Jobs were counted.
	Counted int `json:"counted,omitempty"`
}

// gateObject is the object as the gate knows it.
func (o *Object) gateObject() gate.Object {
	g := gate.Object{Kind: gate.Kind(o.Kind), Namespace: o.Namespace, Name: o.Name, ClusterName: o.Spec.ClusterName}
	if g.Kind == gate.Cluster {
		g.ClusterName = o.Name
	}
	return g
}

// op is the operation that is wanted.
func (o *Object) op() gate.Op {
	switch {
	case o.DeletionTimestamp != nil:
		return gate.Destroy
	case o.Spec.Op == "":
		return gate.Apply
	default:
		return o.Spec.Op
	}
}

// goal is the wanted operation and its inputs, in short: once it is done, there is nothing to do.
func (o *Object) goal() string {
	inputs, err := json.Marshal(o.Spec)
	if err != nil {
		panic(err) // words and numbers
	}
	return o.gateObject().JobName(o.op(), string(inputs))
}

// attempt is how often the goal has failed so far.
func (o *Object) attempt() int {
	if o.Status.Failing == o.goal() {
		return o.Status.Failures
	}
	return 0
}

// operation is the Job that is wanted next.
func (o *Object) operation() gate.Operation {
	deadline := gate.DefaultDeadline
	if s := o.Spec.ActiveDeadlineSeconds; s > 0 {
		deadline = seconds(s)
	}
	goal := o.gateObject()
	return gate.Operation{Object: goal, Op: o.op(), Job: goal.JobName(o.op(), o.goal()+"/"+strconv.Itoa(o.attempt())), Deadline: deadline}
}

// objects reads and writes the objects of one kind.
type objects struct {
	kind   gate.Kind
	client dynamic.ResourceInterface
}

// get reads an object from the API server itself.
func (s objects) get(ctx context.Context, name string) (*Object, error) {
	found, err := s.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	o := new(Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, o); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", s.kind, name, err)
	}
	o.Kind = string(s.kind)
	return o, nil
}

// update writes what is wanted of an object, or its status, of the version that was read, and takes the new version.
func (s objects) update(ctx context.Context, o *Object, status bool) error {
	o.APIVersion, o.Kind = Group+"/"+Version, string(s.kind)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	var stored *unstructured.Unstructured
	if status {
		stored, err = s.client.UpdateStatus(ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{})
	} else {
		stored, err = s.client.Update(ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{})
	}
	if err == nil {
		o.ResourceVersion = stored.GetResourceVersion()
	}
	return err
}
