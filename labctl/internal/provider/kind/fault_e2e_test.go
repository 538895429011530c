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

// testFaults shows that each silence takes hold and ends, with the calls that the commands make.
func testFaults(t *testing.T, p *Provider, cluster provider.Cluster, config *rest.Config) {
	d := newDialler(t, config)
	d.first("open", time.Time{})
	pod := provider.PodRef{UID: string(d.pod.UID), IP: d.pod.Status.PodIP}
	silence := func(how provider.Silence, lasts time.Duration) (from time.Time) {
		t.Helper()
		from = time.Now()
		if err := p.Silence(t.Context(), cluster, pod, how, lasts); err != nil {
			t.Fatal(err)
		}
		return from
	}
	t.Run("frozen, a pod says nothing until it is thawed", func(t *testing.T) {
		silence(provider.Freeze, time.Minute)
		froze := time.Now()
		time.Sleep(2 * time.Second)
		thawed := time.Now()
		if err := p.Restore(t.Context(), cluster, pod, provider.Freeze); err != nil {
			t.Fatal(err)
		}
		again := d.first("open", froze)
		t.Logf("figure: first word %s after the thaw", again.Sub(thawed))
		if again.Before(thawed) {
			t.Errorf("it spoke at %s, and was frozen until %s", again, thawed)
		}
	})
	t.Run("a freeze ends by itself", func(t *testing.T) {
		froze := silence(provider.Freeze, 2*time.Second)
		again := d.first("open", froze.Add(500*time.Millisecond))
		t.Logf("figure: first word %s after the freeze of 2s began", again.Sub(froze))
		if again.Before(froze.Add(1900 * time.Millisecond)) {
			t.Errorf("it spoke %s after the freeze", again.Sub(froze))
		}
	})
	for how, word := range map[provider.Silence]string{provider.Refuse: "refused", provider.BlackHole: "silent"} {
		t.Run(string(how)+" ends when it is lifted", func(t *testing.T) {
			cut := silence(how, time.Minute)
			hit := d.first(word, cut)
			lifted := time.Now()
			if err := p.Restore(t.Context(), cluster, pod, how); err != nil {
				t.Fatal(err)
			}
			open := d.first("open", lifted)
			t.Logf("figure: %s after %s; open %s after the lifting", word, hit.Sub(cut), open.Sub(lifted))
			d.noRules(p, cluster)
		})
	}
	t.Run("a cut ends by itself, and its rule can be swept", func(t *testing.T) {
		cut := silence(provider.Refuse, 2*time.Second)
		ends := cut.Add(2 * time.Second).Truncate(time.Second).Add(time.Second)
		d.first("refused", cut)
		open := d.first("open", cut.Add(time.Second))
		t.Logf("figure: open %s after the promised end", open.Sub(ends))
		if open.Before(ends.Add(-200*time.Millisecond)) || open.After(ends.Add(2*time.Second)) {
			t.Errorf("open at %s, the cut was to end at %s or a second later", open, ends)
		}
		if err := p.Restore(t.Context(), cluster, pod, provider.Refuse); err != nil {
			t.Fatal(err)
		}
		d.noRules(p, cluster)
	})
}

// noRules demands that no rule of a cut is left in the worker.
func (d *dialler) noRules(p *Provider, cluster provider.Cluster) {
	d.t.Helper()
	if rules, err := p.in(d.t.Context(), worker(clusterOf(cluster.Name)), "iptables -w -S FORWARD"); err != nil || strings.Contains(rules, ruleMark) {
		d.t.Errorf("rules left: %s, %v", rules, err)
	}
}
