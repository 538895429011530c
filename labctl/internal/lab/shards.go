package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/replica"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/pairs"
)

// jobStart is what the pods of a Job may take to be placed, pulled and started.
const jobStart = 2 * time.Minute

// pairsInJob measures in the pods of an Indexed Job, each of which has its share of the pairs, and removes it.
func (l *Lab) pairsInJob(ctx context.Context, o PairOptions) (measured []pairs.Trial, err error) {
	limit := jobStart + time.Duration(2*pairSeconds(o)*float64(time.Second))
	job, err := l.Deployment.Job(ctx, shardArgs(o), o.Shards, limit)
	if err != nil {
		return nil, err
	}
	if err := l.removeJobs(ctx); err != nil {
		return nil, err
	}
	defer func() {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
		defer cancel()
		err = errors.Join(err, l.removeJobs(removing))
	}()
	job, err = l.Client.BatchV1().Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
	if err != nil {
		return nil, l.jobDenied(err)
	}
	if err := l.wait(ctx, limit, func(ctx context.Context) (bool, string, error) { return l.jobDone(ctx, job.Name) }); err != nil {
		return nil, err
	}
	return l.jobTrials(ctx, o)
}

// shardArgs are the arguments of each pod.
func shardArgs(o PairOptions) []string {
	flag := func(name string, value any) string { return fmt.Sprintf("--%s=%v", name, value) }
	return []string{api.PairsCommand, flag("pairs", o.Pairs), flag("shards", o.Shards), flag("release", o.Mode == fault.Graceful), flag("seed", o.Seed),
		flag(api.FlagLeaseDuration, o.Timing.LeaseDuration), flag(api.FlagRenewDeadline, o.Timing.RenewDeadline), flag(api.FlagRetryPeriod, o.Timing.RetryPeriod)}
}

func (l *Lab) jobDenied(err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("create the Job: %w", err)
	}
	return &provider.Problem{Err: fmt.Errorf("create the Job: %w", err), Hint: fmt.Sprintf("kubectl -n %s auth can-i create jobs", l.Deployment.Namespace)}
}

// jobDone reports whether every pod of the Job has ended well. One that has not fails it, with what that pod said.
func (l *Lab) jobDone(ctx context.Context, name string) (done bool, what string, err error) {
	job, err := l.Client.BatchV1().Jobs(l.Deployment.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, "", err
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
			return false, "", &provider.Problem{Err: fmt.Errorf("the Job failed: %s%s", c.Message, l.lastWords(ctx)),
				Hint: fmt.Sprintf("kubectl -n %s get events --field-selector involvedObject.kind=Pod", l.Deployment.Namespace)}
		}
	}
	return job.Status.Succeeded == *job.Spec.Completions, fmt.Sprintf("waiting for %d pods of Job %s", *job.Spec.Completions, name), nil
}

// lastWords is what a pod that failed says is wrong: its line with an error, else its last one; "" if there is none.
func (l *Lab) lastWords(ctx context.Context) string {
	list, err := l.jobPods(ctx)
	if err != nil {
		return ""
	}
	for _, p := range list {
		if p.Status.Phase == corev1.PodFailed {
			log, _ := l.log(ctx, p.Name)
			if says := complaint(string(log)); says != "" {
				return "; " + p.Name + " says: " + says
			}
		}
	}
	return ""
}

func complaint(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range lines {
		if what, ok := strings.CutPrefix(line, "error: "); ok {
			return what
		}
	}
	return lines[len(lines)-1]
}

func (l *Lab) jobPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := l.Client.CoreV1().Pods(l.Deployment.Namespace).List(ctx, metav1.ListOptions{LabelSelector: replica.JobSelector})
	if err != nil {
		return nil, fmt.Errorf("list the pods of the Job: %w", err)
	}
	return list.Items, nil
}

func (l *Lab) log(ctx context.Context, pod string) ([]byte, error) {
	return l.Client.CoreV1().Pods(l.Deployment.Namespace).GetLogs(pod, &corev1.PodLogOptions{Container: api.ContainerName}).DoRaw(ctx)
}

// jobTrials reads what the pods printed. Each pair must be there once.
func (l *Lab) jobTrials(ctx context.Context, o PairOptions) ([]pairs.Trial, error) {
	list, err := l.jobPods(ctx)
	if err != nil {
		return nil, err
	}
	var all []pairs.Trial
	for _, p := range list {
		if p.Status.Phase != corev1.PodSucceeded {
			continue // one that was replaced
		}
		log, err := l.log(ctx, p.Name)
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", p.Name, err)
		}
		trials, err := readTrials(bytes.NewReader(log))
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", p.Name, err)
		}
		all = append(all, trials...)
	}
	return complete(all, o.Pairs)
}

// readTrials reads the lines of one pod.
func readTrials(log io.Reader) (trials []pairs.Trial, err error) {
	for lines := json.NewDecoder(log); ; {
		var t pairs.Trial
		switch err := lines.Decode(&t); {
		case errors.Is(err, io.EOF):
			return trials, nil
		case err != nil:
			return nil, err
		}
		trials = append(trials, t)
	}
}

// complete returns the trials in the order of their pairs; an error if one is missing or there twice.
func complete(trials []pairs.Trial, want int) ([]pairs.Trial, error) {
	slices.SortFunc(trials, func(a, b pairs.Trial) int { return cmp.Compare(a.Pair, b.Pair) })
	for i, t := range trials {
		if t.Pair != i+1 {
			return nil, fmt.Errorf("the pods of the Job do not tell of each pair once: pair %d comes where %d should", t.Pair, i+1)
		}
	}
	if len(trials) != want {
		return nil, fmt.Errorf("the pods of the Job tell of %d pairs, not %d", len(trials), want)
	}
	return trials, nil
}

// removeJobs removes the Jobs of all runs, and waits until their pods are gone, so that none of them still writes a Lease.
func (l *Lab) removeJobs(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	err := l.Client.BatchV1().Jobs(l.Deployment.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{LabelSelector: replica.JobSelector})
	if apierrors.IsForbidden(err) {
		return l.jobDenied(err)
	}
	if err != nil {
		return fmt.Errorf("remove the Job: %w", err)
	}
	return l.wait(ctx, sweepLimit, func(ctx context.Context) (bool, string, error) {
		list, err := l.jobPods(ctx)
		var names []string
		for _, p := range list {
			names = append(names, p.Name)
		}
		return len(names) == 0, "waiting for the end of " + strings.Join(names, ", "), err
	})
}
