package kind

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/labctl/internal/provider/providertest"
)

// dialler is a pod that tells whether it reaches the API server.
type dialler struct {
	t     *testing.T
	pod   *corev1.Pod
	lines chan string
}

func newDialler(t *testing.T, config *rest.Config) *dialler {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	_, err = pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "dialler"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: providertest.Image, Args: []string{"dial"}}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := &dialler{t: t, lines: make(chan string, 1000)}
	t.Cleanup(func() { pods.Delete(context.Background(), "dialler", metav1.DeleteOptions{}) })
	err = until(t.Context(), time.Minute, func(ctx context.Context) error {
		if d.pod, err = pods.Get(ctx, "dialler", metav1.GetOptions{}); err == nil && d.pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s", d.pod.Status.Phase)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := pods.GetLogs("dialler", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for scan := bufio.NewScanner(log); scan.Scan(); {
			d.lines <- scan.Text()
		}
	}()
	return d
}

// first waits for the first such word after an instant and returns when it was said.
func (d *dialler) first(word string, after time.Time) time.Time {
	d.t.Helper()
	for limit := time.After(30 * time.Second); ; {
		select {
		case line := <-d.lines:
			said, stamp, _ := strings.Cut(line, " ")
			n, _ := strconv.ParseInt(stamp, 10, 64) // what is no instant is long ago
			if at := time.Unix(0, n); said == word && at.After(after) {
				return at
			}
		case <-limit:
			d.t.Fatalf("the pod did not say %q within 30 s", word)
		}
	}
}

// testFaults shows that each fault takes hold and ends.
func testFaults(t *testing.T, p *Provider, cluster provider.Cluster, config *rest.Config) {
	d := newDialler(t, config)
	d.first("open", time.Time{})
	t.Run("frozen, a pod says nothing until it is thawed", func(t *testing.T) {
		froze, err := p.Freeze(t.Context(), cluster, string(d.pod.UID))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		thawed, err := p.Thaw(t.Context(), cluster, string(d.pod.UID))
		if err != nil {
			t.Fatal(err)
		}
		again := d.first("open", froze.After)
		t.Logf("figure: freeze bracket %s, thaw bracket %s, first word %s after", froze.After.Sub(froze.Before), thawed.After.Sub(thawed.Before), again.Sub(thawed.Before))
		if again.Before(thawed.Before) {
			t.Errorf("it spoke at %s, and was frozen until %s", again, thawed.Before)
		}
	})
	for how, word := range map[Cutting]string{Refuse: "refused", BlackHole: "silent"} {
		t.Run(string(how)+" ends when it is lifted", func(t *testing.T) {
			cut, err := p.CutOff(t.Context(), cluster, d.pod.Status.PodIP, how, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			hit := d.first(word, cut.Before)
			packets, lifted, err := p.UnCut(t.Context(), cut)
			if err != nil || packets == 0 {
				t.Fatalf("%d packets, %v", packets, err)
			}
			open := d.first("open", lifted.Before)
			t.Logf("figure: cut bracket %s, %s after %s; open %s after the lifting", cut.After.Sub(cut.Before), word, hit.Sub(cut.Before), open.Sub(lifted.Before))
		})
	}
	t.Run("a cut ends by itself, and its rule can be swept", func(t *testing.T) {
		cut, err := p.CutOff(t.Context(), cluster, d.pod.Status.PodIP, Refuse, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		d.first("refused", cut.Before)
		open := d.first("open", cut.After)
		t.Logf("figure: open %s after the promised end", open.Sub(cut.Ends))
		if open.Before(cut.Ends.Add(-200*time.Millisecond)) || open.After(cut.Ends.Add(time.Second)) {
			t.Errorf("open at %s, the cut was to end at %s", open, cut.Ends)
		}
		if err := p.SweepCuts(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
		if rules, err := p.in(t.Context(), worker(clusterOf(cluster.Name)), "iptables -w -S FORWARD"); err != nil || strings.Contains(rules, ruleMark) {
			t.Errorf("rules left: %s, %v", rules, err)
		}
	})
}
