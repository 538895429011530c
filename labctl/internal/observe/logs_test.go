package observe

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"academy.example/lab/labctl/internal/timeline"
)

func runningPod(restarts int32) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "space", Name: "p", UID: "u"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}
}

// A kubelet tells the API server up to a second after a log's end that the container has ended. Opening the log again in
// the meantime would read the next container's in the name of the one before.
func TestFollow_ALogThatEndsBeforeTheNewsOfItsContainerIsNotOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(runningPod(0))
		o := New(Config{Client: client, Namespace: "space"})
		var seen []timeline.Kind
		o.Listen(func(e timeline.Event) { seen = append(seen, e.Kind) })
		var running sync.WaitGroup
		tails := &logTails{observer: o, ctx: t.Context(), running: &running, seen: map[life]bool{}}
		tails.pod(runningPod(0)) // the stand-in's log is one line, and ends
		time.Sleep(900 * time.Millisecond)
		if _, err := client.CoreV1().Pods("space").Update(t.Context(), runningPod(1), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		if want := []timeline.Kind{timeline.LogLine, timeline.LogEnded}; !slices.Equal(seen, want) {
			t.Errorf("got %v, want %v", seen, want)
		}
	})
}
