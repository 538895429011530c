package replica

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/fault"
	"academy.example/lab/labctl/internal/provider"
)

// silencer is a node that notes what it is told.
type silencer struct{ told []string }

func (s *silencer) Silence(_ context.Context, _ provider.Cluster, pod provider.PodRef, how provider.Silence, lasts time.Duration) error {
	s.told = append(s.told, string(how)+" "+pod.UID+" "+lasts.String())
	return nil
}

func (s *silencer) Restore(_ context.Context, _ provider.Cluster, pod provider.PodRef, how provider.Silence) error {
	s.told = append(s.told, "restore "+string(how)+" "+pod.UID)
	return nil
}

// slower is one that can make answers late too.
type slower struct{ silencer }

func (s *slower) Slow(_ context.Context, _ provider.Cluster, pod provider.PodRef, latency, lasts time.Duration) error {
	s.told = append(s.told, "slow "+pod.UID+" "+latency.String()+" "+lasts.String())
	return nil
}

func TestSilence_SlowNeedsAPlaceThatCan(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "u"}}
	target := Target{Deployment: Deployment{Client: fake.NewClientset(pod), Namespace: "n"}, Latency: 11 * time.Second}
	of := fault.Pod{Name: "p", UID: "u"}

	can := &slower{}
	target.Silencer = can
	err := errors.Join(target.Silence(t.Context(), fault.Slow, of, 28*time.Second), target.Restore(t.Context(), fault.Slow, of))
	if err != nil || len(can.told) != 2 || can.told[0] != "slow u 11s 28s" || can.told[1] != "restore slow u" {
		t.Errorf("got %v, %v", can.told, err)
	}
	cannot := &silencer{}
	target.Silencer = cannot
	var problem *provider.Problem
	if err := target.Silence(t.Context(), fault.Slow, of, time.Second); !errors.As(err, &problem) || problem.Hint == "" || len(cannot.told) > 0 {
		t.Errorf("a place that cannot: got %v, told %v", err, cannot.told)
	}
	if err := target.Silence(t.Context(), fault.CutRefuse, of, time.Second); err != nil || len(cannot.told) != 1 {
		t.Errorf("a cut there: got %v, told %v", err, cannot.told)
	}
}
