package existing

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"academy.example/lab/labctl/internal/provider"
	"academy.example/lab/operator/api"
)

// killLimit bounds a kill: an exec that starts a process in the container, whose end is its answer.
const killLimit = 10 * time.Second

// Kill ends the operator's process through its own exit switch, by exec: nobody may send a signal here. The process ends at
// that instruction, with no callback and no release, as it would of SIGKILL; its exit code is the switch's.
func (p Provider) Kill(ctx context.Context, cluster provider.Cluster, podUID string) (provider.Exit, error) {
	ctx, cancel := context.WithTimeout(ctx, killLimit)
	defer cancel()
	config, err := cluster.Config()
	if err != nil {
		return provider.Exit{}, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return provider.Exit{}, err
	}
	pods := client.CoreV1().Pods(cluster.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return provider.Exit{}, fmt.Errorf("look for pod %s: %w", podUID, err)
	}
	for _, pod := range list.Items {
		if pod.UID == types.UID(podUID) {
			return throw(ctx, config, client, &pod)
		}
	}
	return provider.Exit{}, fmt.Errorf("kill pod %s: %w", podUID, provider.ErrNotRunning)
}

// programs are where the operator's program is looked for in its container: by PATH, in the root of an image that holds
// nothing else, and as what the container runs.
var programs = []string{api.Program, "/" + api.Program, "/proc/1/exe"}

// throw runs the operator's exit command in the pod. The command returns when the process behind the switch has gone; the
// container's end may cut the command's own stream off before it can say so.
func throw(ctx context.Context, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod) (provider.Exit, error) {
	before := restarts(pod)
	var said string
	var ran error
	for _, program := range programs {
		if said, ran = run(ctx, config, client, pod, program); ran == nil {
			return provider.Exit{ExitCode: api.ExitUnreleased}, nil
		}
		if !strings.Contains(ran.Error(), "not found") && !strings.Contains(ran.Error(), "no such file") {
			break
		}
	}
	// It may have worked all the same: the pod tells, within the time that a kubelet needs to see it.
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline) && ctx.Err() == nil; {
		now, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || now.UID != pod.UID {
			break
		}
		if restarts(now) > before || terminated(now) {
			return provider.Exit{ExitCode: api.ExitUnreleased}, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return provider.Exit{}, fmt.Errorf("kill pod %s by exec: %w %s", pod.Name, ran, said)
}

// run runs a program's exit command in the pod, and returns what it said of trouble.
func run(ctx context.Context, config *rest.Config, client kubernetes.Interface, pod *corev1.Pod, program string) (said string, err error) {
	request := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: api.ContainerName, Command: []string{program, api.ExitCommand}, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(config, "POST", request.URL())
	if err != nil {
		return "", err
	}
	var trouble bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: &trouble})
	return strings.TrimSpace(trouble.String()), err
}

func restarts(pod *corev1.Pod) (n int32) {
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}

func terminated(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Terminated != nil {
			return true
		}
	}
	return false
}
