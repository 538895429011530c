package lab

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"academy.example/lab/labctl/internal/timeline"
	"academy.example/lab/operator/api"
)

// tied returns the standby whose LeaseCandidate was made in the same second as the holder's, and whether there is one. Between
// two of one version and one second the API server chooses anew whenever it looks, by the order of a map: it would take the Lease
// from the holder at any moment. The holder is the one to replace: a standby that is preferred and goes would leave a Lease that has
// expired and names the best candidate, which the API server never gives to it again.
func (l *lane) tied(ctx context.Context, s scene) (timeline.Pod, bool, error) {
	if l.settings.Election != api.ElectionCoordinated || l.lab.foreign != nil {
		return timeline.Pod{}, false, nil
	}
	list, err := l.lab.Client.CoordinationV1beta1().LeaseCandidates(l.lab.Deployment.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return timeline.Pod{}, false, fmt.Errorf("list the LeaseCandidates: %w", err)
	}
	made := map[string]metav1.Time{} // by the pod's name
	for _, c := range list.Items {
		made[timeline.PodOf(c.Name)] = c.CreationTimestamp
	}
	for _, standby := range s.standbys {
		a, known := made[s.holder.Name]
		if b, also := made[standby.Name]; known && also && a.Equal(&b) {
			return standby, true, nil
		}
	}
	return timeline.Pod{}, false, nil
}
