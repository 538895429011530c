package cmd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/exercise"
	"academy.example/lab/labctl/internal/lab"
	"academy.example/lab/operator/api"
)

// answerLimit bounds one question to a replica.
const answerLimit = 2 * time.Second

// details notes when the API server last wrote the Lease, and what runs in the operator's place.
func details(ctx context.Context, l *lab.Lab, now *exercise.Snapshot) error {
	d, err := l.Client.AppsV1().Deployments(l.Deployment.Namespace).Get(ctx, l.Deployment.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read what runs: %w", err)
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == api.ContainerName {
			now.Program = strings.Join(c.Command, " ")
		}
	}
	if now.Lease == nil {
		return nil
	}
	lease, err := l.Client.CoordinationV1().Leases(l.Deployment.Namespace).Get(ctx, api.DefaultName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read when the Lease was written: %w", err)
	}
	for _, m := range lease.ManagedFields {
		if m.Time != nil && m.Time.After(now.WrittenAt) {
			now.WrittenAt = m.Time.Time
		}
	}
	return nil
}

// askReplicas asks each replica whether it leads, and its webhook for an answer.
func askReplicas(ctx context.Context, l *lab.Lab, now *exercise.Snapshot) {
	pods, err := l.Client.CoreV1().Pods(l.Deployment.Namespace).List(ctx, metav1.ListOptions{LabelSelector: api.PodSelector})
	if err != nil {
		now.NoAnswer = "the replicas could not be listed: " + err.Error()
		return
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		if _, err := askReplica(ctx, l, p, "convert"); err == nil {
			now.Answering++
		}
		metrics, err := askReplica(ctx, l, p, "metrics")
		if err != nil {
			now.NoAnswer = fmt.Sprintf("%s does not tell whether it leads: %v", p.Name, err)
			continue
		}
		now.Leaders += gauge(metrics, api.MetricIsLeader)
	}
}

// askReplica reads what a replica serves under a path: from its own address where that is this machine's, which the API server
// refuses to ask, and else through the API server.
func askReplica(ctx context.Context, l *lab.Lab, p *corev1.Pod, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	port := strconv.Itoa(api.DefaultPort)
	if ip := net.ParseIP(p.Status.PodIP); ip == nil || !ip.IsLoopback() {
		body, err := l.Client.CoreV1().Pods(p.Namespace).ProxyGet("http", p.Name, port, path, nil).DoRaw(ctx)
		return string(body), err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(p.Status.PodIP, port)+"/"+path, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// gauge is the value of a metric without labels; 0 if it is not there.
func gauge(metrics, name string) int {
	for line := range strings.Lines(metrics) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			v, _ := strconv.ParseFloat(value, 64) // what is no number counts as 0
			return int(v)
		}
	}
	return 0
}
