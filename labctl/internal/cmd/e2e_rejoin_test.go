package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"academy.example/lab/operator/api"
)

// TestE2ERejoin is the failover workflow of an operator that rejoins in process: the leader's pod is deleted, the Deployment
// restarted, and the Lease taken by a stranger, while every ready replica's webhook is called ten times a second.
func TestE2ERejoin(t *testing.T) {
	w := newWorld(t)
	w.must("labctl", "up")
	w.must("labctl", "operator", "set", "--timing", "fast", "--on-loss", "rejoin")
	callers := startCallers(w)
	mustLead(t, w, "at the start", -1)

	before := transitions(w)
	w.kubectl("delete", "pod", w.holder(), "--wait=false")
	mustLead(t, w, "after the leader's pod was deleted", before)

	before = transitions(w)
	w.kubectl("rollout", "restart", "deployment/academy-operator")
	w.kubectl("rollout", "status", "deployment/academy-operator", "--timeout=60s")
	mustLead(t, w, "after a rolling restart", before)

	before = transitions(w)
	w.kubectl("patch", "lease", "academy-operator", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"holderIdentity":"stranger","leaseDurationSeconds":5,"leaseTransitions":%d}}`, before+1))
	mustLead(t, w, "after a stranger took the Lease", before+1) // else the incumbent, who is still there, would do
	for _, p := range replicas(w) {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount != 0 {
				t.Errorf("%s was restarted %d times: it did not rejoin in process", p.Name, c.RestartCount)
			}
		}
	}
	if calls, failed := callers.stop(); len(failed) > 0 || calls < 100 {
		t.Errorf("%d of %d webhook calls failed: %v", len(failed), calls, failed)
	}
}

// mustLead waits until the number of transitions has grown beyond that, a replica holds the Lease and works, and exactly that
// one says that it leads.
func mustLead(t *testing.T, w *world, when string, beyond int) {
	t.Helper()
	said := ""
	for begun := time.Now(); time.Since(begun) < 40*time.Second; time.Sleep(300 * time.Millisecond) {
		holder := w.holder()
		leads, others := 0, 0
		for _, p := range replicas(w) {
			leader := isLeader(p)
			switch {
			case leader == "1" && p.Name == holder:
				leads++
			case leader != "0":
				others++
			}
		}
		worker := w.kubectl("get", "configmap", api.DefaultWork, "-o", `jsonpath={.metadata.annotations.academy\.example/holder}`)
		said = fmt.Sprintf("holder %s, last work by %s, transitions %d, %d replicas lead as they should and %d as they should not", holder, worker, transitions(w), leads, others)
		if leads == 1 && others == 0 && worker == holder && transitions(w) > beyond {
			return
		}
	}
	t.Fatalf("%s: %s; want one leader and more than %d transitions", when, said, beyond)
}

func transitions(w *world) int {
	n, err := strconv.Atoi(w.kubectl("get", "lease", "academy-operator", "-o", "jsonpath={.spec.leaseTransitions}"))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// replicas are the operator's pods that are ready and not on their way out.
func replicas(w *world) []corev1.Pod {
	var all corev1.PodList
	if err := json.Unmarshal([]byte(w.kubectl("get", "pods", "-l", api.PodSelector, "-o", "json")), &all); err != nil {
		w.t.Fatal(err)
	}
	var ready []corev1.Pod
	for _, p := range all.Items {
		if p.DeletionTimestamp != nil {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready = append(ready, p)
			}
		}
	}
	return ready
}

// call asks a pod, as the API server would ask its webhook: each time on a new connection.
func call(p corev1.Pod, path string) (string, error) {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(fmt.Sprintf("http://%s:%d%s", p.Status.PodIP, api.DefaultPort, path))
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

// isLeader is the value of the operator's gauge, or "" if it could not be read.
func isLeader(p corev1.Pod) string {
	body, _ := call(p, "/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), api.MetricIsLeader+" "); ok {
			return value
		}
	}
	return ""
}

// callers call the webhook of every ready replica ten times a second.
type callers struct {
	stop func() (calls int, failed []error)
}

func startCallers(w *world) callers {
	ctx, cancel := context.WithCancel(w.t.Context())
	var mu sync.Mutex
	var failed []error
	calls, pods := 0, replicas(w)
	var running sync.WaitGroup
	running.Go(func() { // which replicas there are, as a Service would know them: a little late
		for ctx.Err() == nil {
			now := replicas(w)
			mu.Lock()
			pods = now
			mu.Unlock()
			time.Sleep(300 * time.Millisecond)
		}
	})
	running.Go(func() {
		for ctx.Err() == nil {
			mu.Lock()
			now := pods
			mu.Unlock()
			for _, p := range now {
				_, err := call(p, "/convert")
				mu.Lock()
				if calls++; err != nil {
					failed = append(failed, err)
				}
				mu.Unlock()
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return callers{stop: func() (int, []error) {
		cancel()
		running.Wait()
		return calls, failed
	}}
}
