package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withToken adds what the service-account admission adds.
func withToken(p *corev1.Pod) {
	seconds := int64(3607)
	p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-abcde", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &seconds, Path: "token"}}},
	}}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "kube-api-access-abcde", MountPath: accountMount, ReadOnly: true}}
}

func TestCredentials(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "show", withToken)
	p.Spec.Containers[0].Args = []string{"--kubeconfig=$(KUBECONFIG)"}
	l.add(p)
	l.awaitReady("subject")
	shown := l.awaitLog(p, 0, " dir ")
	dir := filepath.Join(l.state, "pods", string(p.UID))
	read := func(name string) string {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v, want mode 0600", name, info, err)
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if token, ca, space := read("serviceaccount/token"), read("serviceaccount/ca.crt"), read("serviceaccount/namespace"); token != "token-1" || ca != "authority" || space != "space" {
		t.Errorf("token %q, authority %q, namespace %q", token, ca, space)
	}
	if !strings.Contains(shown, " env KUBECONFIG="+filepath.Join(dir, "kubeconfig")+"\n") {
		t.Errorf("environment lacks KUBECONFIG: %s", shown)
	}
	if !strings.Contains(shown, " arg --kubeconfig="+filepath.Join(dir, "kubeconfig")+"\n") {
		t.Errorf("the argument does not name it: %s", shown)
	}
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
		Users    []struct{ User struct{ TokenFile string } }
	}
	if err := json.Unmarshal([]byte(read("kubeconfig")), &config); err != nil {
		t.Fatal(err)
	}
	if server := config.Clusters[0].Cluster.Server; !strings.HasPrefix(server, "https://127.0.0.1:") || server == l.node.cfg.APIServer {
		t.Errorf("server = %s, want the pod's own relay", server)
	}
	if file := config.Users[0].User.TokenFile; file != filepath.Join(dir, "serviceaccount/token") {
		t.Errorf("token file = %s", file)
	}
}

func TestNoCredentialsUnlessAsked(t *testing.T) {
	l := newLab(t)
	p := pod("subject", "show")
	l.add(p)
	l.awaitReady("subject")
	if shown := l.awaitLog(p, 0, " dir "); strings.Contains(shown, "KUBECONFIG") || len(l.api.tokens) > 0 {
		t.Errorf("%d tokens, environment %s", len(l.api.tokens), shown)
	}
}

func TestTokenIsRenewed(t *testing.T) {
	l := newLab(t)
	l.api.life = 2 * time.Second
	p := pod("subject", "polite", withToken)
	l.add(p)
	l.awaitReady("subject")
	path := filepath.Join(l.state, "pods", string(p.UID), "serviceaccount", "token")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if data, err := os.ReadFile(path); err != nil {
			t.Fatalf("a reader sees no token: %v", err)
		} else if string(data) == "token-2" {
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the token is not renewed")
		}
	}
	l.api.mu.Lock()
	defer l.api.mu.Unlock()
	if after := l.api.tokens[1].Sub(l.api.tokens[0]); !within(after, 1600*time.Millisecond-10*time.Millisecond) {
		t.Errorf("renewed after %s, want 80 %% of 2 s", after)
	}
}

func TestTokenIsRenewedAfterASleepOfTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const awake, slept = 5 * time.Second, time.Hour
		begun := time.Now()
		wall := func() time.Time { // the clock of a machine that sleeps for an hour, in which no timer runs
			if now := time.Now(); now.Sub(begun) > awake {
				return now.Add(slept)
			}
			return time.Now()
		}
		if !awaitWall(t.Context(), begun.Add(48*time.Minute), wall) {
			t.Fatal("it gave up")
		}
		if after := time.Since(begun); after > awake+2*time.Second {
			t.Errorf("renewed %s after the machine woke up, want at most 2 s", after-awake)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if awaitWall(ctx, time.Now().Add(time.Minute), time.Now) {
			t.Error("it waited for a token of a pod that has ended")
		}
	})
}

func TestTokenComesLate(t *testing.T) {
	l := newLab(t)
	l.api.setDown(true)
	p := pod("subject", "polite", withToken)
	l.add(p)
	l.api.setDown(false)
	l.awaitReady("subject")
}

func TestRegister(t *testing.T) {
	l := newLab(t)
	for range 2 { // the second life takes the node over
		node, err := l.node.register(t.Context(), 4321)
		if err != nil {
			t.Fatal(err)
		}
		node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		if _, err := l.api.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	node, err := l.node.register(t.Context(), 4322)
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Spec.Taints) > 0 || node.Status.DaemonEndpoints.KubeletEndpoint.Port != 4322 || node.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("node = %+v", node)
	}
	if node.Labels[corev1.LabelHostname] != testNode || node.Status.Addresses[0].Address != hostIP {
		t.Errorf("node = %+v", node)
	}
}
