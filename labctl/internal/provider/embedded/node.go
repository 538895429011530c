package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"academy.example/lab/labctl/internal/provider"
)

// idleLimit is how long a connection that is not used stays open.
const idleLimit = 5 * time.Second

// nodeClient talks to the node agent over its unix socket.
func nodeClient(cluster provider.Cluster) (*http.Client, error) {
	r, err := readRecord(paths{state: cluster.StateDir})
	if err != nil {
		return nil, fmt.Errorf("find the node of lab %s: %w", cluster.Name, err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.NodeSocket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, IdleConnTimeout: idleLimit}}, nil
}

// Kill sends SIGKILL to the pod's process and returns when the node has reaped it.
func (p Provider) Kill(ctx context.Context, cluster provider.Cluster, podUID string) (provider.Exit, error) {
	client, err := nodeClient(cluster)
	if err != nil {
		return provider.Exit{}, err
	}
	defer client.CloseIdleConnections()
	target := "http://node/v1/pods/" + url.PathEscape(podUID) + "/signal?signal=SIGKILL&wait=true"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, nil)
	if err != nil {
		return provider.Exit{}, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return provider.Exit{}, &provider.Problem{Err: fmt.Errorf("ask the node to kill pod %s: %w", podUID, err), Hint: "labctl doctor"}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return provider.Exit{}, fmt.Errorf("kill pod %s: %w", podUID, err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusConflict:
		return provider.Exit{}, fmt.Errorf("kill pod %s: %w: %s", podUID, provider.ErrNotRunning, strings.TrimSpace(string(body)))
	default:
		return provider.Exit{}, fmt.Errorf("kill pod %s: the node answered %s: %s", podUID, answer.Status, strings.TrimSpace(string(body)))
	}
	var exit struct {
		PID      int  `json:"pid"`
		Exited   bool `json:"exited"`
		ExitCode int  `json:"exitCode"`
	}
	if err := json.Unmarshal(body, &exit); err != nil {
		return provider.Exit{}, fmt.Errorf("kill pod %s: read the node's answer: %w", podUID, err)
	}
	if !exit.Exited {
		return provider.Exit{}, fmt.Errorf("kill pod %s: process %d was signalled but did not end", podUID, exit.PID)
	}
	return provider.Exit{PID: exit.PID, ExitCode: exit.ExitCode}, nil
}

// Silence stops the pod's process, or cuts its way to the API server, for a while that the node ends by itself.
func (p Provider) Silence(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, how provider.Silence, lasts time.Duration) error {
	if how == provider.Freeze {
		return tell(ctx, cluster, pod.UID, "signal?signal=SIGSTOP&lasts="+lasts.String())
	}
	return tell(ctx, cluster, pod.UID, "network?mode="+string(how)+"&lasts="+lasts.String())
}

// Slow makes the API server's answers to the pod late, for a while that the node ends by itself.
func (p Provider) Slow(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, latency, lasts time.Duration) error {
	return tell(ctx, cluster, pod.UID, fmt.Sprintf("network?mode=%s&latency=%s&lasts=%s", provider.Slow, latency, lasts))
}

// Restore ends a silence.
func (p Provider) Restore(ctx context.Context, cluster provider.Cluster, pod provider.PodRef, how provider.Silence) error {
	what := "network?mode=open"
	if how == provider.Freeze {
		what = "signal?signal=SIGCONT"
	}
	if err := tell(ctx, cluster, pod.UID, what); !errors.Is(err, provider.ErrNotRunning) {
		return err
	}
	return nil
}

// tell asks the node to do something to a pod.
func tell(ctx context.Context, cluster provider.Cluster, podUID, what string) error {
	client, err := nodeClient(cluster)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/v1/pods/"+url.PathEscape(podUID)+"/"+what, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return &provider.Problem{Err: fmt.Errorf("ask the node: %w", err), Hint: "labctl doctor"}
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound, http.StatusConflict:
		return fmt.Errorf("%w: %s", provider.ErrNotRunning, strings.TrimSpace(string(body)))
	default:
		return fmt.Errorf("the node answered %s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
}

// nodeEvent is one line of the node's event stream.
type nodeEvent struct {
	Type      string    `json:"type"`
	UID       string    `json:"uid"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	PID       int       `json:"pid"`
	Restarts  int       `json:"restartCount"`
	ExitCode  int       `json:"exitCode"`
	Wall      time.Time `json:"wall"`
}

// WatchProcesses follows the node's event stream.
func (p Provider) WatchProcesses(ctx context.Context, cluster provider.Cluster, ready func(), on func(provider.ProcessEvent)) error {
	client, err := nodeClient(cluster)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/v1/events", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("watch the node's processes: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("watch the node's processes: the node answered %s", answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		var e nodeEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("watch the node's processes: %w", err)
		}
		switch e.Type {
		case "hello":
			ready()
		case "started", "exited":
			on(provider.ProcessEvent{Started: e.Type == "started", UID: e.UID, Namespace: e.Namespace, Pod: e.Name,
				PID: e.PID, Restarts: e.Restarts, ExitCode: e.ExitCode, At: e.Wall})
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("watch the node's processes: %w", err)
	}
	return fmt.Errorf("watch the node's processes: %w", io.ErrUnexpectedEOF)
}

// NodeProbe asks the node for its pods, over a connection that is kept from one question to the next.
func (p Provider) NodeProbe(cluster provider.Cluster) func(ctx context.Context) error {
	var client *http.Client
	return func(ctx context.Context) (err error) {
		if client == nil {
			if client, err = nodeClient(cluster); err != nil {
				return err
			}
		}
		if err := askNode(ctx, client); err != nil {
			client.CloseIdleConnections()
			client = nil // its socket may be another one now
			return err
		}
		return nil
	}
}

func askNode(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://node/v1/pods", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the node: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the node: it answered %s", answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body) // or the connection is not kept
	return err
}
