package cmd

import (
	"bufio"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	leasesource "academy.example/lab/labctl/internal/checklist/source"
	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/gatelab"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/labctl/internal/pulse"
	"academy.example/lab/operator/api"
	"academy.example/lab/operator/lease/heartbeat"
)

// clientGo is the version of client-go that the operator beside labctl was built with. If there is none, it is that of the
// table, which a test keeps at the version that both are built with.
func clientGo() string {
	self, err := os.Executable()
	if err != nil {
		return leasesource.Version
	}
	info, err := buildinfo.ReadFile(filepath.Join(filepath.Dir(self), api.Program))
	if err != nil {
		return leasesource.Version
	}
	for _, d := range info.Deps {
		if d.Path == leasesource.Module && d.Replace != nil {
			return d.Replace.Version
		}
		if d.Path == leasesource.Module {
			return d.Version
		}
	}
	return ""
}

// snapshot reads what observations may ask about; the replicas themselves only if ask is set.
func (a *app) snapshot(ctx context.Context, ask bool) (*exercise.Snapshot, error) {
	l, err := a.open(ctx, func(string) {})
	if err != nil {
		return nil, err
	}
	s, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	now := &exercise.Snapshot{At: time.Now(), Replicas: s.Replicas, Ready: s.Ready, Settled: s.Settled, Lease: s.Lease, Pods: s.Pods,
		Timing: s.Settings.Timing, Identity: s.Settings.Identity, ReleaseOnCancel: s.Settings.ReleaseOnCancel, OnLoss: s.Settings.OnLoss, LeaseVerbs: map[string]bool{}}
	now.Heartbeat = string(heartbeat.No)
	if s.Lease != nil {
		now.Heartbeat = string(pulse.Judge(*s.Lease, now.At).Verdict)
	}
	if err := details(ctx, l, now); err != nil {
		return nil, err
	}
	if ask {
		askReplicas(ctx, l, now)
	}
	if now.Gate, err = gatelab.Done(ctx, l.Client, l.Deployment.Namespace); err != nil {
		return nil, err
	}
	for _, verb := range []string{"get", "list", "watch", "create", "update", "delete"} {
		if now.LeaseVerbs[verb], err = mayLease(ctx, l, verb); err != nil {
			now.NoVerbs = err.Error()
		}
	}
	for _, p := range s.Pods {
		readLog(ctx, l, p.Name, now)
	}
	return now, nil
}

// mayLease asks the API server whether the operator's account may do that to Leases.
func mayLease(ctx context.Context, l *lab.Lab, verb string) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: fmt.Sprintf("system:serviceaccount:%s:%s", l.Deployment.Namespace, api.DefaultName),
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: l.Deployment.Namespace, Verb: verb,
			Group: "coordination.k8s.io", Resource: "leases", Name: api.DefaultName},
	}}
	if verb == "create" || verb == "list" || verb == "watch" {
		review.Spec.ResourceAttributes.Name = ""
	}
	done, err := l.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask what the operator may do: %w", err)
	}
	return done.Status.Allowed, nil
}

// Bounds of what is read of a replica's log: enough for the words of a failure, and for the newest line of work.
const (
	logLines    = 300
	workRecency = 2 * time.Second
)

// readLog notes which messages a replica has logged, in this life of its container and the one before, and whether it works.
// A log that can't be read tells nothing.
func readLog(ctx context.Context, l *lab.Lab, pod string, now *exercise.Snapshot) {
	lines := int64(logLines)
	for _, previous := range []bool{true, false} {
		stream, err := l.Client.CoreV1().Pods(l.Deployment.Namespace).GetLogs(pod, &corev1.PodLogOptions{Container: api.ContainerName, TailLines: &lines, Previous: previous}).Stream(ctx)
		if err != nil {
			continue
		}
		worked := logged(stream, now)
		stream.Close()
		if !previous && now.At.Sub(worked) < workRecency {
			now.Working = append(now.Working, pod)
		}
	}
}

// logged adds the messages of a log and returns when the last line of work was written.
func logged(stream io.Reader, now *exercise.Snapshot) (worked time.Time) {
	for scanner := bufio.NewScanner(stream); scanner.Scan(); {
		var line struct {
			Time    time.Time `json:"time"`
			Message string    `json:"msg"`
		}
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue
		}
		if !slices.Contains(now.Logged, line.Message) {
			now.Logged = append(now.Logged, line.Message)
		}
		if line.Message == api.MessageReconcile && line.Time.After(worked) {
			worked = line.Time
		}
	}
	return worked
}
