package gate

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Client is the API of one namespace, by client-go, without a cache.
type Client struct {
	Leases coordinationclient.LeaseInterface
	Jobs   batchclient.JobInterface
}

// Lease reads one lease.
func (c Client) Lease(ctx context.Context, name string) (Record, error) {
	lease, err := c.Leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Record{}, err
	}
	return RecordOf(lease), nil
}

// Create makes a lease.
func (c Client) Create(ctx context.Context, r Record) error {
	lease := r.Lease()
	lease.UID, lease.ResourceVersion = "", ""
	_, err := c.Leases.Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// Update writes a lease of the version that r names.
func (c Client) Update(ctx context.Context, r Record) error {
	_, err := c.Leases.Update(ctx, r.Lease(), metav1.UpdateOptions{})
	return err
}

// Delete removes a lease of the UID and version that r names.
func (c Client) Delete(ctx context.Context, r Record) error {
	return c.Leases.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID, ResourceVersion: &r.Version}})
}

// Runs lists the run leases of a cluster's objects.
func (c Client) Runs(ctx context.Context, cluster string) ([]Record, error) {
	return c.list(ctx, labels.Set{LabelLease: LeaseRun, LabelCluster: labelValue(cluster)})
}

// Owned lists the leases of one object.
func (c Client) Owned(ctx context.Context, o Object) ([]Record, error) {
	return c.list(ctx, labels.Set{LabelManaged: "true", LabelKind: string(o.Kind), LabelName: labelValue(o.Name)})
}

// All lists every lease of the gate.
func (c Client) All(ctx context.Context) ([]Record, error) {
	return c.list(ctx, labels.Set{LabelManaged: "true"})
}

func (c Client) list(ctx context.Context, with labels.Set) ([]Record, error) {
	// No resourceVersion: a list of what is stored now, and not of what the API server has in its cache.
	list, err := c.Leases.List(ctx, metav1.ListOptions{LabelSelector: with.String()})
	if err != nil {
		return nil, err
	}
	var records []Record
	for i := range list.Items {
		records = append(records, RecordOf(&list.Items[i]))
	}
	return records, nil
}

// Job reads a Job's state.
func (c Client) Job(ctx context.Context, name string) (State, error) {
	job, err := c.Jobs.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	return StateOf(job), nil
}

// StateOf is a Job's state, by its conditions.
func StateOf(job *batchv1.Job) State {
	if Succeeded(job) || has(job, batchv1.JobFailed) {
		return Finished
	}
	return Running
}

// Succeeded reports whether a Job has finished well.
func Succeeded(job *batchv1.Job) bool { return has(job, batchv1.JobComplete) }

func has(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

var _ API = Client{}
