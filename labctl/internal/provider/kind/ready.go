package kind

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"academy.example/lab/labctl/internal/provider"
)

const pollEvery = 200 * time.Millisecond

// until asks until the answer is nil, and returns the last one at the limit.
func until(ctx context.Context, limit time.Duration, ask func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(limited)
		if err == nil {
			return nil
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("gave up after %s: %w", limit, err)
		case <-time.After(pollEvery):
		}
	}
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := provider.ReadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

// serverReady waits until the API server says that it is ready.
func serverReady(ctx context.Context, kubeconfig string, limit time.Duration) error {
	client, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	return until(ctx, limit, func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// nodesReady waits until both nodes are ready, and returns the version of Kubernetes.
func nodesReady(ctx context.Context, kubeconfig string, limit time.Duration) (version string, err error) {
	client, err := connect(kubeconfig)
	if err != nil {
		return "", err
	}
	err = until(ctx, limit, func(ctx context.Context) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		ready := 0
		for _, n := range nodes.Items {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready < 2 {
			return fmt.Errorf("%d of 2 nodes are ready", ready)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	told, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return told.GitVersion, nil
}
