package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"academy.example/lab/labctl/cluster/internal/state"
)

// patience bounds each wait. A busy machine takes ten times what an idle one does.
const patience = 2 * time.Minute

// TestMain lets the test binary stand for the program, which starts itself again for each child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == "child") {
		os.Exit(dispatch(os.Args[1:]))
	}
	os.Exit(m.Run())
}

type lab struct {
	t              *testing.T
	state, sockets string
	out            *bytes.Buffer
	cmd            *exec.Cmd
	client         kubernetes.Interface
}

func newLab(t *testing.T) *lab {
	if testing.Short() {
		t.Skip("starts a whole cluster")
	}
	sockets, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	return &lab{t: t, state: filepath.Join(t.TempDir(), "state"), sockets: sockets}
}

func (l *lab) command() *exec.Cmd {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		l.t.Fatal(err)
	}
	l.out = &bytes.Buffer{}
	cmd := exec.Command(os.Args[0], "run", "--state="+l.state, "--sockets="+l.sockets, "--pod-start-latency=0s", "--image=sleep="+sleep)
	cmd.Stdout, cmd.Stderr = l.out, l.out
	return cmd
}

// start runs the cluster and waits until its API answers.
func (l *lab) start() {
	l.t.Helper()
	l.cmd = l.command()
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.end(syscall.SIGKILL) })
	l.until("the API answers", func(ctx context.Context) (bool, error) {
		if cluster, err := state.ReadCluster(l.state); err != nil || cluster.PID != l.cmd.Process.Pid {
			return false, nil
		}
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(l.state, "kubeconfig"))
		if err != nil {
			return false, nil
		}
		if l.client, err = kubernetes.NewForConfig(config); err != nil {
			return false, err
		}
		_, err = l.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// end signals the supervisor and waits for it; it may have ended before.
func (l *lab) end(sig syscall.Signal) {
	_ = l.cmd.Process.Signal(sig)
	_ = l.cmd.Wait()
}

func (l *lab) until(what string, condition wait.ConditionWithContextFunc) {
	l.t.Helper()
	if err := wait.PollUntilContextTimeout(l.t.Context(), 50*time.Millisecond, patience, true, condition); err != nil {
		l.t.Fatalf("wait until %s: %v", what, err)
	}
}

func (l *lab) pid(child string) int {
	l.t.Helper()
	cluster, err := state.ReadCluster(l.state)
	if err != nil {
		l.t.Fatal(err)
	}
	return cluster.Children[child].PID
}

// processes lists the processes that run for this lab, pods included: all have its folder in arguments or environment.
func (l *lab) processes() []string {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, path := range entries {
		args, _ := os.ReadFile(path)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if bytes.Contains(args, []byte(l.state)) || bytes.Contains(env, []byte(l.state)) {
			found = append(found, fmt.Sprintf("%s %q", filepath.Base(filepath.Dir(path)), args))
		}
	}
	return found
}

func (l *lab) deploy(replicas int32) {
	l.t.Helper()
	labels := map[string]string{"app": "sleeper"}
	_, err := l.client.AppsV1().Deployments("default").Create(l.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeper"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "sleep:any", Args: []string{"600"}}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) untilReady(replicas int32) {
	l.t.Helper()
	l.until(fmt.Sprintf("%d replicas are ready", replicas), func(ctx context.Context) (bool, error) {
		d, err := l.client.AppsV1().Deployments("default").Get(ctx, "sleeper", metav1.GetOptions{})
		return err == nil && d.Status.ReadyReplicas == replicas && d.Status.Replicas == replicas, nil
	})
}

func TestE2EClusterRunsPodsAndCleansUp(t *testing.T) {
	l := newLab(t)
	l.start()
	l.deploy(2)
	l.untilReady(2)

	second := l.command()
	var exit *exec.ExitError
	if err := second.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitCouldNotRun || !strings.Contains(l.out.String(), "hint:") {
		t.Errorf("second run on the same folder: got %v and %q", err, l.out)
	}

	pods, err := l.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("got %d pods, %v", len(pods.Items), err)
	}
	victim := pods.Items[0]
	if err := l.client.CoreV1().Pods("default").Delete(t.Context(), victim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.until("the deleted pod has gone", func(ctx context.Context) (bool, error) {
		_, err := l.client.CoreV1().Pods("default").Get(ctx, victim.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	l.untilReady(2)

	l.end(syscall.SIGTERM)
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit code %d after SIGTERM, want 0", code)
	}
	if left := l.processes(); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestE2EDeathsAreSurvived(t *testing.T) {
	l := newLab(t)
	l.start()
	l.deploy(1)
	l.untilReady(1)
	for _, child := range []string{"etcd", "apiserver", "controllers"} {
		before := l.pid(child)
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		l.until(child+" runs again", func(context.Context) (bool, error) { return l.pid(child) != before, nil })
		l.until("the deployment is still known", func(ctx context.Context) (bool, error) {
			_, err := l.client.AppsV1().Deployments("default").Get(ctx, "sleeper", metav1.GetOptions{})
			return err == nil, nil
		})
	}
	key, err := os.ReadFile(filepath.Join(l.state, "pki", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}

	l.end(syscall.SIGKILL)
	l.until("nothing is left", func(context.Context) (bool, error) { return len(l.processes()) == 0, nil })

	l.start()
	l.untilReady(1)
	if again, err := os.ReadFile(filepath.Join(l.state, "pki", "sa.key")); err != nil || !bytes.Equal(key, again) {
		t.Errorf("the service-account key was replaced: %v", err)
	}
	l.end(syscall.SIGINT)
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit code %d after SIGINT, want 0", code)
	}
}
