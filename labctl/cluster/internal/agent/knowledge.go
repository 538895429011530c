package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lookTime bounds a look at the API server for something that may be known from before.
const lookTime = 3 * time.Second

// knowledge is what a pod's containers needed from the API server at their last start. They start again with it while
// the server is away, as on a kubelet, which keeps a cache; this one holds only what this pod has asked for.
type knowledge struct {
	mu       sync.Mutex
	services []corev1.Service
	asked    bool // services are known, be they none
	config   map[string]map[string]string
}

func (w *worker) services(ctx context.Context, namespace string) ([]corev1.Service, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	// Version 0 lets the API server answer from its cache.
	list, err := w.node.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	if err == nil {
		w.known.services, w.known.asked = list.Items, true
	} else if !w.known.asked {
		return nil, fmt.Errorf("list services: %w", err)
	}
	return w.known.services, nil
}

// data is what a ConfigMap or Secret holds.
func (w *worker) data(ctx context.Context, kind, namespace, name string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	data, err := w.readConfig(ctx, kind, namespace, name)
	w.known.mu.Lock()
	defer w.known.mu.Unlock()
	key := kind + "/" + name
	if err == nil {
		if w.known.config == nil {
			w.known.config = map[string]map[string]string{}
		}
		w.known.config[key] = data
		return data, nil
	}
	if known, there := w.known.config[key]; there && !apierrors.IsNotFound(err) {
		return known, nil
	}
	return nil, err
}
