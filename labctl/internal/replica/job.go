package replica

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/operator/api"
)

// JobApp is the app label of the pods of a Job, which no selector of the operator's matches.
const JobApp = "academy-trials"

// JobSelector selects such Jobs and their pods.
const JobSelector = "app=" + JobApp

// afterJob is how long a finished Job stays that nobody removed, and jobMemory what one of its pods may take.
const (
	afterJob  = 10 * time.Minute
	jobMemory = "256Mi"
)

// Job returns an Indexed Job of so many pods, spread over the nodes, that run the operator's program with other arguments: the
// Deployment's own image, account and security settings, and neither its labels nor its probes. It is not created.
func (d Deployment) Job(ctx context.Context, args []string, pods int, limit time.Duration) (*batchv1.Job, error) {
	deployment, err := d.get(ctx)
	if err != nil {
		return nil, err
	}
	own := operatorContainer(deployment)
	if own == nil {
		return nil, fmt.Errorf("the Deployment %s/%s has no container %s", d.Namespace, d.Name, api.ContainerName)
	}
	c := own.DeepCopy()
	c.Args, c.Ports, c.ReadinessProbe, c.LivenessProbe, c.StartupProbe, c.Lifecycle = args, nil, nil, nil, nil, nil
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(jobMemory)}
	labels := map[string]string{"app": JobApp, api.LabelLab: "true"}
	spec := deployment.Spec.Template.Spec.DeepCopy()
	spec.Containers, spec.RestartPolicy, spec.Affinity = []corev1.Container{*c}, corev1.RestartPolicyNever, nil
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": JobApp}}}}
	n, none, mode := int32(pods), int32(0), batchv1.IndexedCompletion
	deadline, stays := int64(limit/time.Second), int32(afterJob/time.Second)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: JobApp + "-", Namespace: d.Namespace, Labels: labels},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: &mode, BackoffLimit: &none, ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &stays,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: *spec}},
	}, nil
}
