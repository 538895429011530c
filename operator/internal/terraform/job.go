package terraform

import (
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/gate"
)

// Labels and annotations of the Jobs.
const (
	LabelOwner     = "captf.io/owner"   // the object's suffix
	LabelAttempt   = "captf.io/attempt" // how often the same had failed before
	LabelOp        = "captf.io/op"
	AnnotationGoal = "captf.io/goal"
)

// run is a Job of an object.
type run struct {
	c  *Controller
	o  *Object
	op gate.Operation
}

// Create makes the per-run Secret, and then the Job that reads it. A Job that the API server refused leaves no Secret.
func (r run) Create(ctx context.Context) error {
	if err := pause(ctx, r.c.Pause); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: r.meta(), StringData: map[string]string{"inputs": r.o.Spec.Inputs}}
	if _, err := r.c.Secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err := r.c.Jobs.Create(ctx, r.job(), metav1.CreateOptions{})
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		_, _ = r.Count(ctx) // nobody counts a Job that does not exist
	}
	return err
}

// Count deletes the per-run Secret: it is there once for each Job.
func (r run) Count(ctx context.Context) (bool, error) {
	err := r.c.Secrets.Delete(ctx, r.op.Job, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func (r run) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: r.op.Job, Namespace: r.o.Namespace,
		Labels: map[string]string{LabelOwner: r.op.Object.Suffix(), LabelAttempt: strconv.Itoa(r.o.attempt()), LabelOp: string(r.op.Op),
			gate.LabelKind: r.o.Kind, api.LabelLab: "true"},
		Annotations:     map[string]string{AnnotationGoal: r.o.goal()},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: Group + "/" + Version, Kind: r.o.Kind, Name: r.o.Name, UID: r.o.UID}},
	}
}

// job is the Job: the operator's own program, which works for a while where Terraform would run.
func (r run) job() *batchv1.Job {
	none, deadline, no, yes := int32(0), int64(r.op.Deadline/time.Second), false, true
	args := []string{api.GateCommand, api.GateJobCommand, "--for=" + seconds(max(1, r.o.Spec.Seconds)).String()}
	if r.o.Spec.Fail {
		args = append(args, "--fail")
	}
	user := int64(65532)
	return &batchv1.Job{ObjectMeta: r.meta(), Spec: batchv1.JobSpec{BackoffLimit: &none, ActiveDeadlineSeconds: &deadline,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{LabelOwner: r.op.Object.Suffix(), api.LabelLab: "true"}},
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: &no,
				SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
				Containers: []corev1.Container{{Name: "terraform", Image: r.c.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
					SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
					Env: []corev1.EnvVar{{Name: "TF_INPUTS", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: r.op.Job}, Key: "inputs", Optional: &yes}}}}}}},
		}}}
}

// found is a Job of an object that is not the wanted one, as an operation that can be counted.
func (c *Controller) found(o *Object, job *batchv1.Job) run {
	op := gate.Operation{Object: o.gateObject(), Op: gate.Op(job.Labels[LabelOp]), Job: job.Name, Deadline: gate.DefaultDeadline}
	return run{c, o, op}
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("paused before the Job: %w", context.Cause(ctx))
	}
}
